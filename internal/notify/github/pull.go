package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

// Repo is a repository as an installation reaches it.
type Repo struct {
	app          *App
	installation int64
	path         string
}

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

// Pull reads a pull request.
func (r Repo) Pull(ctx context.Context, number int) (p Pull, err error) {
	return p, r.call(ctx, http.MethodGet, fmt.Sprintf("/pulls/%d", number), nil, &p)
}

// File is a file that a pull request changes.
type File struct {
	Name      string `json:"filename"`
	Status    string `json:"status"` // added, modified, removed, renamed …
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Patch     string `json:"patch"` // empty: of a large or binary file
}

// Files are the first files of a pull request, up to most; more reports that there are others.
func (r Repo) Files(ctx context.Context, number, most int) (out []File, more bool, err error) {
	for page := 1; ; page++ {
		var found []File
		path := fmt.Sprintf("/pulls/%d/files?per_page=%d&page=%d", number, perPage, page)
		if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
			return nil, false, err
		}
		if out = append(out, found...); len(out) > most {
			return out[:most], true, nil
		}
		if len(found) < perPage {
			return out, false, nil
		}
	}
}

// LineComment is a comment on a line of the new file.
type LineComment struct {
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

// find is the id of what we wrote with a mark into a list; 0: nothing. Anybody can write a mark, but not as the App.
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
			if m.User.Login == known.Slug+"[bot]" && strings.Contains(m.Body, mark) {
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

// FindReview is the id of the review that we wrote with a mark; 0: none.
func (r Repo) FindReview(ctx context.Context, number int, mark string) (int64, error) {
	return r.find(ctx, fmt.Sprintf("/pulls/%d/reviews", number), mark)
}

// Review writes comments on lines of a commit, together.
func (r Repo) Review(ctx context.Context, number int, commit, body string, comments []LineComment) (int64, error) {
	var m made
	err := r.call(ctx, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews", number),
		map[string]any{"commit_id": commit, "event": "COMMENT", "body": body, "comments": comments}, &m)
	return m.ID, err
}

// FindComment is the id of the comment on a pull request that we wrote with a mark; 0: none.
func (r Repo) FindComment(ctx context.Context, number int, mark string) (int64, error) {
	return r.find(ctx, fmt.Sprintf("/issues/%d/comments", number), mark)
}

// Comment writes a comment on a pull request.
func (r Repo) Comment(ctx context.Context, number int, body string) (int64, error) {
	var m made
	err := r.call(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), map[string]any{"body": body}, &m)
	return m.ID, err
}

// Edit replaces the text of a comment. gone: somebody has deleted it.
func (r Repo) Edit(ctx context.Context, comment int64, body string) (gone bool, err error) {
	err = r.call(ctx, http.MethodPatch, fmt.Sprintf("/issues/comments/%d", comment), map[string]any{"body": body}, nil)
	if failed, ok := errors.AsType[*apiclient.Error](err); ok &&
		(failed.Status == http.StatusNotFound || failed.Status == http.StatusGone) {
		return true, nil
	}
	return false, err
}

// MayWrite reports whether a person has write access.
func (r Repo) MayWrite(ctx context.Context, login string) (bool, error) {
	var found struct {
		Permission string `json:"permission"` // admin, write, read or none; maintain is write
	}
	err := r.call(ctx, http.MethodGet, "/collaborators/"+url.PathEscape(login)+"/permission", nil, &found)
	if failed, ok := errors.AsType[*apiclient.Error](err); ok && failed.Status == http.StatusNotFound {
		return false, nil
	}
	return found.Permission == "admin" || found.Permission == "write", err
}

// The conclusions of a check run.
const (
	Success = "success"
	Neutral = "neutral"
	Failure = "failure"
	Skipped = "skipped"
)

// CheckRun is a check of a commit.
type CheckRun struct {
	Name, Commit, External string // External is our id of it
	Conclusion             string // empty: it is in progress
	Title, Summary         string
}

func (c CheckRun) body() map[string]any {
	doc := map[string]any{"name": c.Name, "external_id": c.External, "status": "in_progress"}
	if c.Title != "" {
		doc["output"] = map[string]any{"title": c.Title, "summary": c.Summary}
	}
	if c.Conclusion != "" {
		doc["status"], doc["conclusion"] = "completed", c.Conclusion
	}
	return doc
}

// FindCheck is the id of our check run of a commit with an external id; 0: none.
func (r Repo) FindCheck(ctx context.Context, c CheckRun) (int64, error) {
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

// SetCheck creates a check run (id 0) or changes it, and gives its id.
func (r Repo) SetCheck(ctx context.Context, id int64, c CheckRun) (int64, error) {
	doc, method, path := c.body(), http.MethodPost, "/check-runs"
	if id != 0 {
		method, path = http.MethodPatch, fmt.Sprintf("/check-runs/%d", id)
	} else {
		doc["head_sha"] = c.Commit
	}
	var m made
	err := r.call(ctx, method, path, doc, &m)
	return m.ID, err
}
