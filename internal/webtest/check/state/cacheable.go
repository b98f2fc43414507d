package state

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

var (
	forAll = regexp.MustCompile(`(?i)(?:^|[,\s])(?:public|s-maxage\s*=\s*"?[1-9])`)
	forOne = regexp.MustCompile(`(?i)(?:^|[,\s])(?:private|no-store|no-cache|max-age\s*=\s*"?0*(?:"|,|\s|$))`)
)

// cacheable is the check for pages of a user alone whose answer says that shared caches may keep it for all. One
// request as nobody, who must be refused, for each page that says so.
func cacheable() kit.Check {
	c := kit.Check{ID: "private-page-cacheable", Class: "private-page-cacheable", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		r := t.Response
		if r == nil || t.Request.Method != http.MethodGet || !kit.Known(t.User) || r.Status != http.StatusOK ||
			kit.Static(r) {
			return nil
		}
		said, varies := strings.Join(r.Header.Values("Cache-Control"), ", "),
			strings.ToLower(strings.Join(r.Header.Values("Vary"), ","))
		if !forAll.MatchString(said) || forOne.MatchString(said) || strings.Contains(varies, "cookie") ||
			strings.Contains(varies, "authorization") || strings.Contains(varies, "*") {
			return nil
		}
		nobody, err := w.Ask(ctx, t.Request, nil)
		if err != nil || !refuses(nobody) {
			return err
		}
		w.Found(&c, kit.Finding{Request: t.Request, Detail: "Cache-Control: " + said, Evidence: []kit.Evidence{
			{Request: t.Request, Response: r, Match: said, Note: "the answer to the user says that shared caches may keep it"},
			{Request: nobody.Request, Response: nobody, Note: "nobody is refused the page"}}})
		return nil
	}
	return c
}
