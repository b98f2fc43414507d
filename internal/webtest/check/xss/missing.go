package xss

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxFolders are in how many folders a page is asked for that is not there, the root being one.
const maxFolders = 3

// missingPages is the check for the page that a site shows for an address that it does not know: it may name the
// address. Parts of a site have pages of their own for that. One request for each of three folders; what the check of
// parameters needs where the address is shown.
func missingPages() kit.Check {
	c := kit.Check{ID: "xss-missing-page", Class: "xss", Level: client.Safe}.Describe()
	c.Title = "Reflected cross-site scripting"
	c.Site = func(ctx context.Context, w *kit.World, root *url.URL) error {
		for _, folder := range folders(w, root) {
			word := kit.Word()
			at := *root
			at.Path, at.RawPath, at.RawQuery, at.Fragment = folder+word, "", "", ""
			r := message.From(http.MethodGet, &at)
			answer, err := w.Ask(ctx, r, nil)
			if err != nil {
				return err
			}
			if answer.Status < http.StatusBadRequest || !document(answer) || !strings.Contains(string(answer.Body), word) {
				continue
			}
			for _, p := range slices.Backward(message.Places(r)) {
				if p.Value == word {
					t := &kit.Target{Request: r, Places: []message.Place{p}, Response: answer}
					if found, err := test(ctx, &c, w, t, p); err != nil || found {
						return err
					}
					break
				}
			}
		}
		return nil
	}
	return c
}

// folders are the root of a site, and the first of its folders.
func folders(w *kit.World, root *url.URL) []string {
	all, seen := []string{"/"}, map[string]bool{}
	for _, r := range w.Pages() {
		folder, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if ok && folder != "" && r.URL.Host == root.Host && !seen[folder] && len(all) < maxFolders {
			seen[folder] = true
			all = append(all, "/"+folder+"/")
		}
	}
	return all
}
