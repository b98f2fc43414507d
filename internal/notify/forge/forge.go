// Package forge has what a review of a change asks of the service that hosts the repository, whichever it is. Packages
// github and gitlab are the two; core/review decides what is read and written.
//
// A change is what one calls a pull request and the other a merge request. What is written has a mark, by which a later
// run finds it again: only texts of our own account count, as anybody can write a mark.
package forge

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

// Change is a pull or merge request. Outsiders write its texts and names.
type Change struct {
	Number int
	Open   bool
	Draft  bool
	Title  string
	Author string // their login
	Head   string // the commit that is reviewed
	Into   string // the branch that it is for
	Labels []string

	Base, Start string // commits that positions at GitLab are relative to
}

// File is a file of a change.
type File struct {
	Name    string
	Old     string // its name before; the same when it was not renamed
	Removed bool
	Hidden  bool   // lines were changed, and Patch does not show them: it is large or binary
	Patch   string // hunks of a unified diff
}

// LineComment is a comment on a line of the new file.
type LineComment struct {
	File File
	Line int
	Body string
	Mark string // differs for each comment of a change
}

// Batch are the comments on lines of a review.
type Batch struct {
	Change   Change
	Mark     string
	Text     string // written above them, where a forge writes them together
	Comments []LineComment
	Again    bool // an earlier run may have written some
}

// The conclusions of a check. A forge without Neutral has Success in its place.
const (
	Success = "success"
	Neutral = "neutral"
	Failure = "failure"
)

// Check is a check of a commit, which can keep the change from being merged.
type Check struct {
	Name, Commit, External string // External is our id of it
	Conclusion             string // empty: it is in progress
	Title, Summary         string
}

// Repo is a repository as a connection of a team reaches it. Errors are *apiclient.Error.
type Repo interface {
	// Change reads a change.
	Change(ctx context.Context, number int) (Change, error)
	// Files are its first files, up to most; more reports that there are others.
	Files(ctx context.Context, number, most int) (files []File, more bool, err error)
	// Content is a file as a commit has it; whole is false for one that the forge does not give, as it is large.
	Content(ctx context.Context, commit, path string) (text []byte, whole bool, err error)
	// CommentLines writes comments on lines, none twice.
	CommentLines(ctx context.Context, b Batch) error
	// FindComment is the id of the comment on a change that we wrote with a mark; 0: none.
	FindComment(ctx context.Context, number int, mark string) (int64, error)
	// Comment writes a comment on a change.
	Comment(ctx context.Context, number int, body string) (int64, error)
	// Edit replaces the text of one. gone: somebody has deleted it.
	Edit(ctx context.Context, number int, comment int64, body string) (gone bool, err error)
	// SetCheck changes a check, and gives its id; with id 0 it makes it, if it is not there.
	SetCheck(ctx context.Context, id int64, c Check) (int64, error)
	// MayWrite reports whether a person has write access, by what the forge's webhook calls them.
	MayWrite(ctx context.Context, person string) (bool, error)
}

// Blob is a file as both forges give it.
type Blob struct {
	Encoding string `json:"encoding"` // base64; GitHub has none for a large file
	Size     int    `json:"size"`
	Content  string `json:"content"`
}

// Text is what is in the file; whole is false if that is not all.
func (b Blob) Text() (text []byte, whole bool) {
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(b.Content, "\n", ""))
	return text, err == nil && b.Encoding == "base64" && len(text) == b.Size
}

// Gone reports whether a forge says that there is no such thing, or not for us.
func Gone(err error) bool {
	f, ok := errors.AsType[*apiclient.Error](err)
	return ok && (f.Status == http.StatusNotFound || f.Status == http.StatusGone)
}
