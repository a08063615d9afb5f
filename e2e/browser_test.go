package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserPackages has axe-core, which checks the accessibility of pages.
var browserPackages = &npmFolder{path: "browser"}

// chromium returns the path of a browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	skipOutsideCI(t, t.Name()+": it needs Chromium (Debian's package chromium)")
	return ""
}

// browser is the running Chromium, for one test.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// running is the Chromium that all tests share. The first test that needs it starts it.
var running struct {
	sync.Mutex
	ctx context.Context
	end func()
}

// openBrowser returns the browser. Each test opens its own windows.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := chromium(t)
	running.Lock()
	defer running.Unlock()
	if running.ctx == nil {
		if err := startBrowser(program); err != nil {
			t.Fatalf("start the browser: %v", err)
		}
	}
	return &browser{t, running.ctx}
}

// startBrowser starts Chromium with a new profile.
func startBrowser(program string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(filepath.Dir(remitBin), "chromium")),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
	)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	running.ctx, running.end = ctx, func() { end(); cancel() }
	return chromedp.Do(ctx, chromedp.Navigate("about:blank"))
}

// endBrowser stops Chromium after the last test, if a test started it.
func endBrowser() {
	running.Lock()
	defer running.Unlock()
	if running.end != nil {
		running.end()
	}
}

// tab is a page of the console in its own window, which has its own cookies.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string // errors of the browser, and requests to other hosts
	// started and finished are the requests of the page, except for the event stream, which does
	// not end, and the icon, whose end the browser does not report.
	started, finished map[network.RequestID]string
	loads             map[network.RequestID]string // the page load that sent the request
}

// window opens a tab with its own cookies, and signs in with a one-time link.
func (b *browser) window(w *httpServer, role, name string) *tab {
	b.t.Helper()
	return b.windowAt(w, w.url, role, name)
}

// windowAt is window for a server that the browser reaches at another address.
func (b *browser) windowAt(w *httpServer, base, role, name string) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	b.t.Cleanup(cancel)
	view := &tab{t: b.t, ctx: ctx, base: base, started: map[network.RequestID]string{}, finished: map[network.RequestID]string{}, loads: map[network.RequestID]string{}}
	// The page closes when the context of its first action ends, so use the context of the tab.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		b.t.Fatal(err)
	}
	view.listen()
	view.focus()
	made := w.workspace.person("token", "link", "--root", w.workspace.root, "--role", role, "--name", name, "--addr", strings.TrimPrefix(w.url, "http://"))
	link := strings.TrimSpace(made.out)
	if made.code != 0 || !strings.HasPrefix(link, w.url) {
		b.t.Fatalf("token link: exit %d\n%s%s", made.code, made.out, made.errOut)
	}
	view.open(base + strings.TrimPrefix(link, w.url))
	return view
}

// focus makes the page behave as the focused one, even if other tests use other tabs.
func (v *tab) focus() {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		v.t.Fatal(err)
	}
}

// listen records errors and requests to other hosts.
func (v *tab) listen() {
	v.t.Helper()
	onEvent(v, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		v.fault("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	})
	onEvent(v, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeWarning {
			return
		}
		var words []string
		for _, arg := range e.Args {
			words = append(words, string(arg.Value)+arg.Description)
		}
		v.fault("console: %s", strings.Join(words, " "))
	})
	onEvent(v, log.EntryAdded, func(e log.EventEntryAdded) {
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			v.fault("log: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	})
	onEvent(v, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
		if to := e.Request.URL; !strings.HasPrefix(to, v.base+"/") && !strings.HasPrefix(to, "data:") && to != "about:blank" {
			v.fault("request to another host: %s", to)
		}
		if e.Type != network.ResourceTypeEventSource && e.Type != network.ResourceTypeOther {
			v.note(v.loads, e.RequestID, string(e.LoaderID))
			v.note(v.started, e.RequestID, e.Request.URL)
		}
	})
	onEvent(v, network.LoadingFinished, func(e network.EventLoadingFinished) { v.note(v.finished, e.RequestID, "") })
	onEvent(v, network.LoadingFailed, func(e network.EventLoadingFailed) { v.note(v.finished, e.RequestID, e.ErrorText) })
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(v.ctx, log.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(v.ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(v.ctx, runtime.Enable, cdp.Empty{}); return err },
	} {
		if err := enable(); err != nil {
			v.t.Fatal(err)
		}
	}
}

// onEvent calls a function for every event of a kind, as long as the tab is open.
func onEvent[E any](v *tab, event cdp.Event[E], hear func(E)) {
	all := chromedp.Events(v.ctx, event)
	go func() {
		for e, err := range all {
			if err != nil {
				return
			}
			hear(e)
		}
	}()
}

// note records an event of a request. Events can arrive in any order.
func (v *tab) note(where map[network.RequestID]string, id network.RequestID, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	where[id] = what
}

// pending returns the addresses of the current page's requests that have not finished. Browsers do
// not report how requests of a previous page end, and may report them after the next page has
// loaded.
func (v *tab) pending() []string {
	v.t.Helper()
	tree, err := chromedp.Call(v.ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		v.t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var open []string
	for id, address := range v.started {
		if _, ok := v.finished[id]; !ok && v.loads[id] == string(tree.FrameTree.Frame.LoaderID) {
			open = append(open, address)
		}
	}
	return open
}

func (v *tab) fault(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// checkFaults fails the test if faults were recorded, and clears them.
func (v *tab) checkFaults(where string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, fault := range v.faults {
		v.t.Errorf("%s: %s", where, fault)
	}
	v.faults = nil
}

func (v *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.t.Fatalf("at %s: %v\n%s", v.address(), err, v.screenshot(failed))
	}
}

func (v *tab) address() string {
	ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location()) // only for a message
	return at
}

// open opens a page by its path or full URL.
func (v *tab) open(path string) {
	v.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.base + path
	}
	v.run(chromedp.Navigate(path), chromedp.WaitReady(chromedp.CSS("body")))
}

// text returns the visible text of the page. It is empty while another page loads.
func (v *tab) text() string {
	ctx, cancel := context.WithTimeout(v.ctx, timeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	if err != nil {
		return ""
	}
	return text
}

// waitForText waits until the page shows a text, without reloading it.
func (v *tab) waitForText(words string) {
	v.t.Helper()
	for deadline := time.Now().Add(timeout); !strings.Contains(v.text(), words); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			v.t.Fatalf("%s does not show %q before the timeout:\n%s\n%s", v.address(), words, clip(v.text()), v.screenshot(failed))
		}
	}
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](v *tab, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatalf("at %s: %v\n%s", v.address(), err, clip(expression))
	}
	return value
}

// viewport is a colour scheme and a window size.
type viewport struct {
	scheme string // light or dark
	width  int64
}

// viewports returns two viewports that cover both schemes and both widths, or all four in full
// runs: the layout of a page does not depend on its colours.
func viewports() []viewport {
	if os.Getenv("REMIT_FULL") == "true" {
		return []viewport{{"light", 390}, {"dark", 390}, {"light", 1280}, {"dark", 1280}}
	}
	return []viewport{{"light", 390}, {"dark", 1280}}
}

func (l viewport) String() string { return fmt.Sprintf("%s-%d", l.scheme, l.width) }

// emulate applies a viewport to the page.
func (v *tab) emulate(l viewport) {
	v.t.Helper()
	height := int64(900)
	if l.width < 600 {
		height = 844
	}
	_, err := chromedp.Call(v.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: l.width, Height: height, DeviceScaleFactor: 1, Mobile: l.width < 600,
	})
	if err == nil {
		_, err = chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// pictureFolder returns the folder for screenshots.
func pictureFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("REMIT_ARTEFACTS")
	if folder == "" {
		folder = filepath.Join("browser", "artefacts")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// failed is the name of the screenshot of a failure.
const failed = "failed"

// screenshot saves a picture of the page and returns its name. Unless pictures were requested, it
// saves only those of failures.
func (v *tab) screenshot(name string) string {
	v.t.Helper()
	if name != failed && os.Getenv("REMIT_ARTEFACTS") == "" && os.Getenv("REMIT_FULL") != "true" {
		return ""
	}
	ctx, cancel := context.WithTimeout(v.ctx, timeout)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return fmt.Sprintf("(no picture: %v)", err)
	}
	file := filepath.Join(pictureFolder(v.t), strings.NewReplacer("/", "_", " ", "_").Replace(v.t.Name()+"-"+name)+".png")
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		return err.Error()
	}
	return file
}

// watchShifts notes from now on which elements move, unless a person has just clicked or typed.
func (v *tab) watchShifts() {
	v.t.Helper()
	evaluate[bool](v, `(() => {
		window.shiftObserver?.disconnect();
		window.shifts = [];
		const place = (box) => [box.x, box.y, box.width, box.height].join(" ");
		const source = ({ node, previousRect, currentRect }) => (node?.outerHTML ?? node?.textContent ?? "?").slice(0, 120) + ": " + place(previousRect) + " to " + place(currentRect);
		window.shiftObserver = new PerformanceObserver((list) => {
			for (const shift of list.getEntries()) if (!shift.hadRecentInput) window.shifts.push([shift.value, ...shift.sources.map(source)].join("\n"));
		});
		window.shiftObserver.observe({ type: "layout-shift" });
		return true;
	})()`)
}

// checkShifts fails the test if any element has moved since watchShifts was called.
func (v *tab) checkShifts(where string) {
	v.t.Helper()
	for _, shift := range evaluate[[]string](v, `window.shifts`) {
		v.t.Errorf("%s: the page moved: %s", where, shift)
	}
}

// violation is an accessibility violation that axe-core found.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML    string
		Summary string `json:"failureSummary"`
	}
}

// checkAccessibility fails the test if axe-core finds a serious violation on the page.
func (v *tab) checkAccessibility(where string) {
	v.t.Helper()
	browserPackages.ready(v.t)
	source, err := os.ReadFile(browserPackages.program(v.t, "axe-core/axe.min.js"))
	if err != nil {
		v.t.Fatal(err)
	}
	evaluate[int](v, string(source)+";0")
	found := evaluate[string](v, `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`)
	var all []violation
	if err := json.Unmarshal([]byte(found), &all); err != nil {
		v.t.Fatal(err)
	}
	for _, one := range all {
		if one.Impact != "serious" && one.Impact != "critical" {
			continue
		}
		for _, node := range one.Nodes[:min(len(one.Nodes), 3)] {
			v.t.Errorf("%s: %s (%s): %s\n%s\n%s", where, one.ID, one.Impact, one.Help, clip(node.HTML), clip(node.Summary))
		}
	}
}

// pathOf returns an address from its path on.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.RequestURI()
}
