package exposure

import (
	"bytes"
	"context"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var program = regexp.MustCompile(`(?i)\.(php\d?|phtml|jsp|jspx|jsf|do|action|asp|aspx|ashx|cfm|cgi|pl|py|rb|inc|html?|shtml|js|xml|json|conf|sql)$`)

var staticPage = regexp.MustCompile(`(?i)^\.s?html?$`)

const (
	maxOldHere = 3   // files of a folder of which copies of each form are looked for
	maxOldFull = 150 // and of a host
	maxOld     = 600 // files of a host of which copies of the usual forms are looked for
	usualOld   = 3   // those forms are the first of the list
)

// oldFiles is the check for copies of files beside them: of the first files of each folder under each form of a name,
// of others under the usual ones. Names whose form the folder answers always are left out.
func oldFiles() kit.Check {
	c := kit.Check{ID: "old-file", Class: "old-file", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		at := t.Request.URL
		if !program.MatchString(at.Path) || t.Response == nil || t.Response.Status >= 400 ||
			!w.Once("old "+at.Host+at.Path) || count(w, "old files "+at.Host) > maxOld {
			return nil
		}
		dir, base := path.Split(at.Path)
		ext := path.Ext(base)
		forms := oldNames()
		if count(w, "old files "+at.Host+dir) > maxOldHere || count(w, "old files, all forms "+at.Host) > maxOldFull {
			forms = forms[:usualOld]
		}
		for _, form := range forms {
			name := strings.NewReplacer("{name}", strings.TrimSuffix(base, ext), "{ext}", ext).Replace(form)
			answer, err := get(ctx, w, at, dir+name)
			if err != nil {
				return err
			}
			if answer.Status != http.StatusOK || len(bytes.TrimSpace(answer.Body)) == 0 {
				continue
			}
			if err := oldFile(ctx, &c, w, t, answer, dir, form, ext); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// oldFile judges an answer for the name of an old file.
func oldFile(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, answer *message.Response,
	dir, form, ext string,
) error {
	random := strings.NewReplacer("{name}", kit.Word(), "{ext}", ext).Replace(form)
	control, err := get(ctx, w, t.Request.URL, dir+random)
	if err != nil || control.Status == http.StatusOK {
		return err
	}
	again, err := get(ctx, w, t.Request.URL, answer.Request.URL.Path)
	if err != nil || again.Status != http.StatusOK {
		return err
	}
	// A page of the map under another name, such as page1 and page2, is none, nor is what the page itself shows.
	if linked(w, answer.Request.URL.Path) || bytes.Equal(bytes.TrimSpace(answer.Body), bytes.TrimSpace(t.Response.Body)) {
		return nil
	}
	severity, about := kit.Low, "a copy of the file"
	if staticPage.MatchString(ext) { // its text was public, too
		severity = kit.Info
	}
	if sourceText.Match(answer.Body) || archive.Match(answer.Body) {
		severity, about = kit.Medium, "a copy of the file with its source"
	}
	if diff.Likeness(diff.New(answer), diff.New(t.Response), nil) < 0.2 && severity != kit.Medium &&
		strings.Contains(form, "{ext}") &&
		strings.HasSuffix(form, "{ext}") && !strings.ContainsAny(form, " _-") {
		return nil // another page that has a number in its name
	}
	w.Found(c, kit.Finding{Request: answer.Request, Severity: severity, Detail: about, Payload: answer.Request.URL.Path,
		Evidence: []kit.Evidence{
			{Request: answer.Request, Response: answer, Note: about},
			{Request: control.Request, Response: control, Note: "a random name of the same form is not there"},
		}, Proof: exists(answer.Request, control.Request, "")})
	return nil
}

var (
	sourceText = regexp.MustCompile(`<\?php|<\?=|<%[@=!\s]|(?m)^(?:import|package|using|require|include|from) [\w."']+|\bfunction \w+\(`)
	archive    = regexp.MustCompile(`^(?:PK\x03\x04|\x1f\x8b|Rar!|7z\xbc\xaf)`)
)

// linked says whether the map has a path.
func linked(w *kit.World, to string) bool {
	for _, r := range w.Pages() {
		if r.URL.Path == to {
			return true
		}
	}
	return false
}

// count is how often something was counted, with this time.
func count(w *kit.World, what string) int64 {
	n, _ := w.Memo.LoadOrStore(what, new(atomic.Int64))
	return n.(*atomic.Int64).Add(1) //nolint:forcetypeassert // it is stored here
}
