package xss

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// pageTime is how long a page of the browser lives, settleTime how long it may go on after it was loaded.
const pageTime, settleTime = 15 * time.Second, 3 * time.Second

// errForm is the error for a request that a browser cannot be given as an address or a form.
var errForm = errors.New("a browser cannot send this request")

// Executes opens a request in the browser as a user and says whether the page calls a function. A POST of a form
// is sent
// by a page of ours, as a page of an attacker would.
func Executes(ctx context.Context, w *kit.World, as *client.User, r *message.Request, function string) (bool, error) {
	if r.After != nil {
		if _, err := w.Client.Send(ctx, r.After, client.Options{As: as}); err != nil {
			return false, err
		}
	}
	page, err := w.Client.Page(ctx, w.Browser, as, r.URL, pageTime)
	if err != nil {
		return false, err
	}
	defer page.Close()
	if err := page.Hook(hook(function)); err != nil {
		return false, err
	}
	if to, ok := address(r); ok {
		if err := page.Navigate(to.String()); err != nil {
			return false, err
		}
		return called(page)
	}
	script, err := post(r)
	if err != nil {
		return false, err
	}
	root := *r.URL
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	if err := page.Navigate(root.String()); err != nil {
		return false, err
	}
	if _, err := page.Eval(script); err != nil {
		return false, err
	}
	return called(page)
}

// hook is a script that notes calls of a function, also those in frames.
func hook(function string) string {
	return fmt.Sprintf("window[%q]=function(){window.vedetteCalled=true;try{window.top.vedetteCalled=true}catch(e){}};",
		function)
}

// called waits until the page is quiet and says whether it called the function.
func called(page *browser.Page) (bool, error) {
	if err := page.Wait("load", settleTime); err != nil {
		return false, err
	}
	// What a script does after the page was loaded, it does soon.
	value, err := page.Eval(`() => new Promise(done => { let left = 10; const look = () => {
		if (window.vedetteCalled === true || left-- === 0) done(window.vedetteCalled === true)
		else setTimeout(look, 30) }; look() })`)
	if err != nil {
		return false, err
	}
	got, _ := value.(bool)
	return got, nil
}

// post is a function that sends a form, as a page of an attacker would.
func post(r *message.Request) (string, error) {
	if r.Method != http.MethodPost ||
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return "", errForm
	}
	values, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return "", errForm
	}
	encoded, err := json.Marshal(values)
	if err != nil {
		return "", errForm
	}
	return fmt.Sprintf(`() => { const f = document.createElement("form"); f.method = "post"; f.action = %q
		for (const [name, all] of Object.entries(%s)) for (const value of all) {
			const i = document.createElement("textarea"); i.name = name; i.value = value; f.appendChild(i) }
		if (!document.documentElement) document.appendChild(document.createElement("html")) // a page that has just begun
		document.documentElement.appendChild(f); HTMLFormElement.prototype.submit.call(f) }`, r.URL.String(), encoded), nil
}
