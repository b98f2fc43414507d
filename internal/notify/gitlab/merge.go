package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/notify/forge"
)

// Repo is a project as an account reaches it.
type Repo struct {
	account Account
	path    string
}

var _ forge.Repo = Repo{}

func (r Repo) call(ctx context.Context, method, path string, body, out any) error {
	return r.account.call(ctx, method, r.path+path, body, out)
}

func merge(number int) string { return fmt.Sprintf("/merge_requests/%d", number) }

// Change implements forge.Repo.
func (r Repo) Change(ctx context.Context, number int) (forge.Change, error) {
	var m struct {
		IID    int      `json:"iid"`
		State  string   `json:"state"` // opened, closed, merged or locked
		Draft  bool     `json:"draft"`
		Title  string   `json:"title"`
		SHA    string   `json:"sha"`
		Into   string   `json:"target_branch"`
		Labels []string `json:"labels"`
		Author User     `json:"author"`
		Refs   struct {
			Base  string `json:"base_sha"`
			Start string `json:"start_sha"`
		} `json:"diff_refs"`
	}
	err := r.call(ctx, http.MethodGet, merge(number), nil, &m)
	return forge.Change{Number: m.IID, Open: m.State == "opened", Draft: m.Draft, Title: m.Title, Author: m.Author.Username,
		Head: m.SHA, Into: m.Into, Labels: m.Labels, Base: m.Refs.Base, Start: m.Refs.Start}, err
}

// Files implements forge.Repo.
func (r Repo) Files(ctx context.Context, number, most int) (out []forge.File, more bool, err error) {
	for page := 1; ; page++ {
		var found []struct {
			Old       string `json:"old_path"`
			New       string `json:"new_path"`
			Deleted   bool   `json:"deleted_file"`
			Collapsed bool   `json:"collapsed"`
			TooLarge  bool   `json:"too_large"`
			Diff      string `json:"diff"`
		}
		path := fmt.Sprintf("%s/diffs?per_page=%d&page=%d", merge(number), perPage, page)
		if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
			return nil, false, err
		}
		for _, f := range found {
			out = append(out, forge.File{Name: f.New, Old: cmp.Or(f.Old, f.New), Removed: f.Deleted,
				Hidden: f.TooLarge || f.Collapsed && f.Diff == "", Patch: hunks(f.Diff)})
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
	err := r.call(ctx, http.MethodGet, "/repository/files/"+url.PathEscape(path)+"?ref="+url.QueryEscape(commit), nil,
		&blob)
	text, whole := blob.Text()
	return text, whole, err
}

// hunks is a diff without the lines that name the files, which older versions of GitLab write above it.
func hunks(diff string) string {
	if !strings.HasPrefix(diff, "--- ") {
		return diff
	}
	if at := strings.Index(diff, "\n@@ "); at >= 0 {
		return diff[at+1:]
	}
	return ""
}

// note is a comment.
type note struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	Author User   `json:"author"`
}

// ours reports whether we wrote a note with a mark at its end. Anybody can write a mark, but not as our account; what
// we repeat of others does not end our texts.
func (r Repo) ours(n note, mark string) bool {
	return n.Author.ID == r.account.id && strings.HasSuffix(strings.TrimSpace(n.Body), mark)
}

// maxSearched bounds the comments that are searched for a mark.
const maxSearched = 1000

// CommentLines implements forge.Repo: a comment is a discussion. One whose line GitLab does not find is left out, as a
// merge request may have come to another diff; the summary has its finding.
func (r Repo) CommentLines(ctx context.Context, b forge.Batch) error {
	var had []note
	for page := 1; b.Again && page*perPage <= maxSearched; page++ {
		var found []struct {
			Notes []note `json:"notes"`
		}
		path := fmt.Sprintf("%s/discussions?per_page=%d&page=%d", merge(b.Change.Number), perPage, page)
		if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
			return err
		}
		for _, d := range found {
			had = append(had, d.Notes...)
		}
		if len(found) < perPage {
			break
		}
	}
next:
	for _, c := range b.Comments {
		for _, n := range had {
			if r.ours(n, c.Mark) {
				continue next
			}
		}
		position := map[string]any{"position_type": "text", "base_sha": b.Change.Base, "start_sha": b.Change.Start,
			"head_sha": b.Change.Head, "old_path": c.File.Old, "new_path": c.File.Name, "new_line": c.Line}
		err := r.call(ctx, http.MethodPost, merge(b.Change.Number)+"/discussions",
			map[string]any{"body": c.Body + "\n" + c.Mark, "position": position}, nil)
		if status(err) == http.StatusBadRequest {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func status(err error) int {
	if f, ok := errors.AsType[*apiclient.Error](err); ok {
		return f.Status
	}
	return 0
}

// FindComment implements forge.Repo.
func (r Repo) FindComment(ctx context.Context, number int, mark string) (int64, error) {
	for page := 1; page*perPage <= maxSearched; page++ {
		var found []note
		path := fmt.Sprintf("%s/notes?sort=asc&order_by=created_at&per_page=%d&page=%d", merge(number), perPage, page)
		if err := r.call(ctx, http.MethodGet, path, nil, &found); err != nil {
			return 0, err
		}
		for _, n := range found {
			if r.ours(n, mark) {
				return n.ID, nil
			}
		}
		if len(found) < perPage {
			break
		}
	}
	return 0, nil
}

// Comment implements forge.Repo.
func (r Repo) Comment(ctx context.Context, number int, body string) (int64, error) {
	var n note
	err := r.call(ctx, http.MethodPost, merge(number)+"/notes", map[string]any{"body": body}, &n)
	return n.ID, err
}

// Edit implements forge.Repo.
func (r Repo) Edit(ctx context.Context, number int, comment int64, body string) (gone bool, err error) {
	err = r.call(ctx, http.MethodPut, fmt.Sprintf("%s/notes/%d", merge(number), comment), map[string]any{"body": body},
		nil)
	if forge.Gone(err) {
		return true, nil
	}
	return false, err
}

const maxDescription = 250 // bytes of a commit status; GitLab takes 255

// SetCheck implements forge.Repo by a commit status.
func (r Repo) SetCheck(ctx context.Context, _ int64, c forge.Check) (int64, error) {
	state := map[string]string{"": "running", forge.Failure: "failed"}[c.Conclusion]
	var made struct {
		ID int64 `json:"id"`
	}
	err := r.call(ctx, http.MethodPost, "/statuses/"+url.PathEscape(c.Commit), map[string]any{
		"state": cmp.Or(state, "success"), "name": c.Name, "description": errs.Clip(c.Title, maxDescription)}, &made)
	// GitLab refuses a state that the status has already.
	if f, ok := errors.AsType[*apiclient.Error](err); ok && f.Status == http.StatusBadRequest &&
		strings.Contains(f.Message, "Cannot transition status") {
		return 1, nil
	}
	return made.ID, err
}

// developer is the least access level that may push.
const developer = 30

// MayWrite implements forge.Repo; a person is the number of their account.
func (r Repo) MayWrite(ctx context.Context, person string) (bool, error) {
	var found struct {
		Level int    `json:"access_level"`
		State string `json:"state"` // active, blocked, awaiting
	}
	err := r.call(ctx, http.MethodGet, "/members/all/"+url.PathEscape(person), nil, &found)
	if forge.Gone(err) {
		return false, nil
	}
	return found.Level >= developer && found.State == "active", err
}
