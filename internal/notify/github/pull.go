package github

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/notify/forge"
)

// Repo is a repository as an installation reaches it.
type Repo struct {
	app          *App
	installation int64
	path         string
}

var _ forge.Repo = Repo{}

// Repo is a repository of an installation by its full name, owner/name.
func (a *App) Repo(installation int64, fullName string) Repo {
	owner, name, _ := strings.Cut(fullName, "/")
	return Repo{a, installation, "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)}
}

func (r Repo) call(ctx context.Context, method, path string, body, out any) error {
	return r.app.call(ctx, r.installation, method, r.path+path, body, out)
}

// Pull is a pull request.
type Pull struct {
	Number int    `json:"number"`
	State  string `json:"state"` // open or closed
	Draft  bool   `json:"draft"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	User   struct {
		Login string `json:"login"`
	} `json:"user"`
	Head struct {
		SHA string `json:"sha"`
		Ref string `json:"ref"`
	} `json:"head"`
	Base struct {
		SHA string `json:"sha"`
		Ref string `json:"ref"`
	} `json:"base"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

// Change is the pull request as reviews know it.
func (p Pull) Change() forge.Change {
	c := forge.Change{Number: p.Number, Open: p.State == "open", Draft: p.Draft, Title: p.Title, Author: p.User.Login,
		Head: p.Head.SHA, Into: p.Base.Ref, Base: p.Base.SHA}
	for _, l := range p.Labels {
		c.Labels = append(c.Labels, l.Name)
	}
	return c
}

// Change implements forge.Repo.
func (r Repo) Change(ctx context.Context, number int) (forge.Change, error) {
	var p Pull
	err := r.call(ctx, http.MethodGet, fmt.Sprintf("/pulls/%d", number), nil, &p)
	return p.Change(), err
}

// file is a file that a pull request changes.
type file struct {
	Name      string `json:"filename"`
	Previous  string `json:"previous_filename"`
	Status    string `json:"status"` // added, modified, removed, renamed …
	Additions int    `json:"additions"`
	Patch     string `json:"patch"` // empty: of a large or binary file
}

// Files implements forge.Repo.
func (r Repo) Files(ctx context.Context, number, most int) (out []forge.File, more bool, err error) {
	for page := 1; ; page++ {
		var found []file
		path := fmt.Sprintf("/pulls/%d/files?per_page=%d&page=%d", number, perPage, page)
		if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
			return nil, false, err
		}
		for _, f := range found {
			out = append(out, forge.File{Name: f.Name, Old: cmp.Or(f.Previous, f.Name), Removed: f.Status == "removed",
				Hidden: f.Patch == "" && f.Additions > 0, Patch: f.Patch})
		}
		if len(out) > most {
			return out[:most], true, nil
		}
		if len(found) < perPage {
			return out, false, nil
		}
	}
}

// Content implements forge.Repo.
func (r Repo) Content(ctx context.Context, commit, path string) ([]byte, bool, error) {
	var blob forge.Blob
	err := r.call(ctx, http.MethodGet, "/contents/"+strings.ReplaceAll(url.PathEscape(path), "%2F",
		"/")+"?ref="+url.QueryEscape(commit), nil, &blob)
	text, whole := blob.Text()
	return text, whole, err
}

// lineComment is a comment on a line of the new file.
type lineComment struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Side string `json:"side"` // RIGHT
	Body string `json:"body"`
}

type byMark struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
}

// maxSearched bounds the comments that are searched for a mark.
const maxSearched = 1000

// find is the id of what we wrote with a mark at its end into a list; 0: nothing. Anybody can write a mark, but not as
// the App; what it repeats of others does not end its texts.
func (r Repo) find(ctx context.Context, list, mark string) (int64, error) {
	known, err := r.app.about(ctx)
	if err != nil {
		return 0, err
	}
	for page := 1; page*perPage <= maxSearched; page++ {
		var found []byMark
		path := fmt.Sprintf("%s?per_page=%d&page=%d", list, perPage, page)
		if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
			return 0, err
		}
		for _, m := range found {
			if m.User.Login == known.Slug+"[bot]" && strings.HasSuffix(strings.TrimSpace(m.Body), mark) {
				return m.ID, nil
			}
		}
		if len(found) < perPage {
			break
		}
	}
	return 0, nil
}

type made struct {
	ID int64 `json:"id"`
}

// CommentLines implements forge.Repo: the comments are one review, which has the mark.
func (r Repo) CommentLines(ctx context.Context, b forge.Batch) error {
	path := fmt.Sprintf("/pulls/%d/reviews", b.Change.Number)
	if b.Again {
		if id, err := r.find(ctx, path, b.Mark); err != nil || id != 0 {
			return err
		}
	}
	var comments []lineComment
	for _, c := range b.Comments {
		comments = append(comments, lineComment{c.File.Name, c.Line, "RIGHT", c.Body})
	}
	return r.call(ctx, http.MethodPost, path, map[string]any{"commit_id": b.Change.Head, "event": "COMMENT",
		"body": b.Text + "\n" + b.Mark, "comments": comments}, nil)
}

// FindComment implements forge.Repo.
func (r Repo) FindComment(ctx context.Context, number int, mark string) (int64, error) {
	return r.find(ctx, fmt.Sprintf("/issues/%d/comments", number), mark)
}

// Comment implements forge.Repo.
func (r Repo) Comment(ctx context.Context, number int, body string) (int64, error) {
	var m made
	err := r.call(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), map[string]any{"body": body}, &m)
	return m.ID, err
}

// Edit implements forge.Repo.
func (r Repo) Edit(ctx context.Context, _ int, comment int64, body string) (gone bool, err error) {
	err = r.call(ctx, http.MethodPatch, fmt.Sprintf("/issues/comments/%d", comment), map[string]any{"body": body}, nil)
	if forge.Gone(err) {
		return true, nil
	}
	return false, err
}

// MayWrite implements forge.Repo; a person is their login.
func (r Repo) MayWrite(ctx context.Context, login string) (bool, error) {
	var found struct {
		Permission string `json:"permission"` // admin, write, read or none; maintain is write
	}
	err := r.call(ctx, http.MethodGet, "/collaborators/"+url.PathEscape(login)+"/permission", nil, &found)
	if forge.Gone(err) {
		return false, nil
	}
	return found.Permission == "admin" || found.Permission == "write", err
}

// body is a check run as GitHub takes it. The conclusions have GitHub's names.
func body(c forge.Check) map[string]any {
	doc := map[string]any{"name": c.Name, "external_id": c.External, "status": "in_progress"}
	if c.Title != "" {
		doc["output"] = map[string]any{"title": c.Title, "summary": c.Summary}
	}
	if c.Conclusion != "" {
		doc["status"], doc["conclusion"] = "completed", c.Conclusion
	}
	return doc
}

// findCheck is the id of our check run of a commit with an external id; 0: none.
func (r Repo) findCheck(ctx context.Context, c forge.Check) (int64, error) {
	var found struct {
		Runs []struct {
			ID       int64  `json:"id"`
			External string `json:"external_id"`
		} `json:"check_runs"`
	}
	path := fmt.Sprintf("/commits/%s/check-runs?per_page=%d&filter=all&check_name=%s&app_id=%d", url.PathEscape(c.Commit), perPage,
		url.QueryEscape(c.Name), r.app.config.AppID)
	if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
		return 0, err
	}
	for _, run := range found.Runs {
		if run.External == c.External {
			return run.ID, nil
		}
	}
	return 0, nil
}

// SetCheck implements forge.Repo by a check run.
func (r Repo) SetCheck(ctx context.Context, id int64, c forge.Check) (int64, error) {
	if id == 0 {
		found, err := r.findCheck(ctx, c)
		if err != nil || found != 0 {
			return found, err
		}
		doc := body(c)
		doc["head_sha"] = c.Commit
		var m made
		err = r.call(ctx, http.MethodPost, "/check-runs", doc, &m)
		return m.ID, err
	}
	return id, r.call(ctx, http.MethodPatch, fmt.Sprintf("/check-runs/%d", id), body(c), nil)
}
