package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// attackPage is a page of another port that tries to call a tool as the person who looks at it, and
// to sign them in with a link. BASE is the server and LINK the link.
const attackPage = `<!doctype html><title>begun</title>
<link rel="prefetch" href="LINK"><link rel="stylesheet" href="LINK">
<iframe name="inner" src="LINK"></iframe><iframe name="target"></iframe>
<form id="call" method="post" action="BASE/tools/add_task" enctype="text/plain" target="target">
<input name='{"user_id":"eve","title":"form","description":"' value='"}'></form>
<form id="login" method="post" action="BASE/console/login" target="target"><input name="token" value="TOKEN"></form>
<a href="LINK">Look at this</a>
<script>
const curl = {"Content-Type": "application/x-www-form-urlencoded"}; // what curl -d sends, and any page may send
const call = {method: "POST", mode: "no-cors", credentials: "include", headers: curl, body: '{"user_id":"eve","title":"fetch"}'};
const gone = new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = "LINK"; });
const events = new Promise(done => { const e = new EventSource("BASE/console/events"); e.onerror = e.onopen = () => { e.close(); done(); }; });
navigator.sendBeacon("BASE/tools/add_task", new Blob(['{"user_id":"eve","title":"beacon"}'], {type: curl["Content-Type"]}));
document.getElementById("login").submit();
const form = new Promise(done => setTimeout(() => {
	document.getElementsByName("target")[0].onload = done;
	document.getElementById("call").submit();
}, 0));
Promise.allSettled([fetch("BASE/tools/add_task", call), fetch("BASE/console/login?token=TOKEN", {mode: "no-cors"}),
	fetch("BASE/tools"), gone, events, form]).then(all => { document.title = "ended " + all[2].status; });
</script>`

// TestPageOfAnotherPort checks that a page of another port of this machine can neither call a tool
// nor sign anybody in, and that a link on it asks first.
func TestPageOfAnotherPort(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	made := s.person("token", "link", "--root", s.root, "--role", "viewer", "--name", "mallory", "--addr", strings.TrimPrefix(w.url, "http://"))
	link := strings.TrimSpace(made.out)
	_, token, _ := strings.Cut(link, "token=")
	page := strings.NewReplacer("BASE", w.url, "LINK", link, "TOKEN", token).Replace(attackPage)
	evil := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprint(out, page)
	}))
	defer evil.Close()
	// Her cookie travels between the ports of a host.
	ada := openBrowser(t).window(w, "admin", "ada")
	ada.open(evil.URL)
	for title := "begun"; !strings.HasPrefix(title, "ended"); {
		title = evaluate[string](ada, `new Promise(done => setTimeout(() => done(document.title), 20))`)
		if title == "ended fulfilled" {
			t.Error("the page read the list of tools")
		}
	}
	if got := w.post("/tools/list_tasks", `{"user_id":"eve"}`, nil); !strings.Contains(string(got.body), `"total":0`) {
		t.Errorf("the page called a tool: %s", got.body)
	}
	ada.open("/console/settings")
	ada.waitForText("ada")
	ada.open(evil.URL)
	ada.run(chromedp.Click(chromedp.CSS("a")))
	ada.waitForText("Sign in as mallory?")
	ada.press("Sign in as mallory")
	ada.waitForText("Overview")
	ada.open("/console/settings")
	ada.waitForText("needs the role admin")
	w.end()
	if got := s.remit("audit", "list"); !strings.Contains(got.out, "auth/request") {
		t.Errorf("the attempts are not recorded:\n%s%s", got.out, got.errOut)
	}
}
