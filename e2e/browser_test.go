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

// pageTools holds what looks at pages for those who cannot see or point.
var pageTools = &npmFolder{path: "browser"}

// chromium finds a browser, or leaves the test out.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	leaveOut(t, t.Name()+": it needs Chromium (Debian's package chromium)")
	return ""
}

// browser is the running Chromium, as a test sees it.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// running is the one Chromium of all tests. The first that needs it starts it.
var running struct {
	sync.Mutex
	ctx context.Context
	end func()
}

// openBrowser gives the browser. A test opens windows of its own in it.
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

// startBrowser starts it, with a profile of its own.
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

// endBrowser ends it after the last test, if one has started it.
func endBrowser() {
	running.Lock()
	defer running.Unlock()
	if running.end != nil {
		running.end()
	}
}

// tab is a page of somebody who looks at the console. Cookies are those of a window of
// its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string // what the browser complains of, and requests that lead elsewhere
	// asked and answered are the requests of the page, but for the stream of events, which
	// does not end, and the icon, of which the browser does not tell the end.
	asked, answered map[network.RequestID]string
	loads           map[network.RequestID]string // which load of a page asked
}

// window opens a tab whose cookies no other has, and signs in with a one-time link.
func (b *browser) window(w *web, role, name string) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	b.t.Cleanup(cancel)
	view := &tab{t: b.t, ctx: ctx, base: w.url, asked: map[network.RequestID]string{}, answered: map[network.RequestID]string{}, loads: map[network.RequestID]string{}}
	// The page ends with the context of what was done first.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		b.t.Fatal(err)
	}
	view.listen()
	view.focus()
	made := w.space.remit("token", "link", "--root", w.space.root, "--role", role, "--name", name, "--addr", strings.TrimPrefix(w.url, "http://"))
	link := strings.TrimSpace(made.out)
	if made.code != 0 || !strings.HasPrefix(link, w.url) {
		b.t.Fatalf("token link: exit %d\n%s%s", made.code, made.out, made.errOut)
	}
	view.open(link)
	return view
}

// focus makes the page behave as the one that is in front, whatever other tests look at.
func (v *tab) focus() {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		v.t.Fatal(err)
	}
}

// listen notes what a page should never bring about.
func (v *tab) listen() {
	v.t.Helper()
	on(v, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		v.fault("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	})
	on(v, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeWarning {
			return
		}
		var words []string
		for _, arg := range e.Args {
			words = append(words, string(arg.Value)+arg.Description)
		}
		v.fault("console: %s", strings.Join(words, " "))
	})
	on(v, log.EntryAdded, func(e log.EventEntryAdded) {
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			v.fault("log: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	})
	on(v, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
		if to := e.Request.URL; !strings.HasPrefix(to, v.base+"/") && !strings.HasPrefix(to, "data:") && to != "about:blank" {
			v.fault("a request leads elsewhere: %s", to)
		}
		if e.Type != network.ResourceTypeEventSource && e.Type != network.ResourceTypeOther {
			v.note(v.loads, e.RequestID, string(e.LoaderID))
			v.note(v.asked, e.RequestID, e.Request.URL)
		}
	})
	on(v, network.LoadingFinished, func(e network.EventLoadingFinished) { v.note(v.answered, e.RequestID, "") })
	on(v, network.LoadingFailed, func(e network.EventLoadingFailed) { v.note(v.answered, e.RequestID, e.ErrorText) })
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

// on calls a function for every event of a kind, as long as the tab is open.
func on[E any](v *tab, event cdp.Event[E], hear func(E)) {
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

// note keeps a request; what begins and ends comes in any order.
func (v *tab) note(where map[network.RequestID]string, id network.RequestID, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	where[id] = what
}

// waits are the addresses that have not answered the page yet. Browsers do not tell how requests
// of a page end that is gone, and may tell of them when the next one is there.
func (v *tab) waits() []string {
	v.t.Helper()
	tree, err := chromedp.Call(v.ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		v.t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var open []string
	for id, address := range v.asked {
		if _, ok := v.answered[id]; !ok && v.loads[id] == string(tree.FrameTree.Frame.LoaderID) {
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

// clean fails the test if the browser had to complain, and forgets it.
func (v *tab) clean(where string) {
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
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.t.Fatalf("at %s: %v\n%s", v.address(), err, v.shot(failed))
	}
}

func (v *tab) address() string {
	ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location()) // it is for a message
	return at
}

// open goes to a page, by its path or its whole address.
func (v *tab) open(path string) {
	v.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.base + path
	}
	v.run(chromedp.Navigate(path), chromedp.WaitReady(chromedp.CSS("body")))
}

// text is what can be read on the page; it is nothing while another one loads.
func (v *tab) text() string {
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	if err != nil {
		return ""
	}
	return text
}

// sees waits until the page shows words, without loading it again.
func (v *tab) sees(words string) {
	v.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(v.text(), words); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			v.t.Fatalf("%s never shows %q:\n%s\n%s", v.address(), words, clip(v.text()), v.shot(failed))
		}
	}
}

// evaluate gives the value of an expression in the page.
func evaluate[T any](v *tab, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatalf("at %s: %v\n%s", v.address(), err, clip(expression))
	}
	return value
}

// look is a way to look at a page.
type look struct {
	scheme string // light or dark
	width  int64
}

// looks are two that have both schemes and both widths, or all four where there is time: how a
// page fits does not depend on its colours.
func looks() []look {
	if os.Getenv("REMIT_FULL") == "true" {
		return []look{{"light", 390}, {"dark", 390}, {"light", 1280}, {"dark", 1280}}
	}
	return []look{{"light", 390}, {"dark", 1280}}
}

func (l look) String() string { return fmt.Sprintf("%s-%d", l.scheme, l.width) }

// as makes the page look so from now on.
func (v *tab) as(l look) {
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

// artefacts is where pictures of pages are kept.
func artefacts(t *testing.T) string {
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

// failed is the name of the picture of a page that a test fails at.
const failed = "failed"

// shot keeps a picture of the page, and gives its name. Where nobody asks for pictures it keeps
// those of failures alone.
func (v *tab) shot(name string) string {
	v.t.Helper()
	if name != failed && os.Getenv("REMIT_ARTEFACTS") == "" && os.Getenv("REMIT_FULL") != "true" {
		return ""
	}
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return fmt.Sprintf("(no picture: %v)", err)
	}
	file := filepath.Join(artefacts(v.t), strings.NewReplacer("/", "_", " ", "_").Replace(v.t.Name()+"-"+name)+".png")
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		return err.Error()
	}
	return file
}

// violation is something on a page that keeps people from using it.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML    string
		Summary string `json:"failureSummary"`
	}
}

// usable fails the test if axe-core finds something serious on the page.
func (v *tab) usable(where string) {
	v.t.Helper()
	pageTools.ready(v.t)
	source, err := os.ReadFile(pageTools.program(v.t, "axe-core/axe.min.js"))
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

// pathOf is an address without what is before the path.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.RequestURI()
}
