package knowledge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	fetchFor     = time.Minute
	maxPage      = 4 << 20 // bytes of a page
	maxFile      = 512 << 10
	maxFiles     = 5000
	maxEntries   = 50_000
	maxRemote    = 128 << 20 // bytes of a git remote
	maxRedirects = 3
)

// refused is what a source's owner is told; the job is not tried again.
func refused(format string, args ...any) error {
	return errs.New(errs.Invalid, "source_unreadable", format, args...)
}

// read reads the texts of a source.
func (k *Knowledge) read(ctx context.Context, s Source) (all []document, revision string, err error) {
	switch s.Kind {
	case URL:
		d, err := k.page(ctx, s.URL)
		return []document{d}, "", err
	case File:
		d, err := k.file(ctx, s)
		return []document{d}, "", err
	case Git:
		return k.repository(ctx, s)
	default:
		return []document{{s.Name, string(s.content)}}, "", nil
	}
}

// file reads an uploaded file as its owner sees it now.
func (k *Knowledge) file(ctx context.Context, s Source) (document, error) {
	found, _, err := k.files.ForTask(ctx, s.TeamID, s.UserID, []string{s.FileKey})
	if err != nil {
		return document{}, err
	}
	if len(found) == 0 {
		return document{}, refused("There is no file %.200s any more.", s.FileKey)
	}
	body, err := k.files.Read(found[0], 0, maxPage+1)
	if err != nil {
		return document{}, err
	}
	isPage := found[0].Ext == "html" || found[0].Ext == "htm" || found[0].Ext == "xhtml"
	return documentOf(s.FileKey, body, isPage)
}

// documentOf is the text of a page, or of a text.
func documentOf(place string, body []byte, isPage bool) (d document, err error) {
	switch {
	case len(body) > maxPage:
		return d, refused("%.200s has more than %d bytes.", place, maxPage)
	case isPage:
		return document{place, strings.TrimSpace(textOf(body))}, nil
	case !isText(body):
		return d, refused("%.200s is no page and no text: PDF and other formats are not read.", place)
	}
	return document{place, string(body)}, nil
}

// page fetches a page through the guard.
func (k *Knowledge) page(ctx context.Context, from string) (document, error) {
	client := k.guard.Client(fetchFor)
	for range maxRedirects + 1 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
		if err != nil {
			return document{}, refused("%.200s is no URL.", from)
		}
		answer, err := client.Do(r)
		if err != nil {
			return document{}, refused("%.200s cannot be fetched: %s", from, errs.Clip(err.Error(), 300))
		}
		if to := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && to != "" {
			_ = answer.Body.Close() // nothing of it is read
			next, err := answer.Request.URL.Parse(to)
			if err != nil || next.Scheme != "https" && next.Scheme != "http" {
				return document{}, refused("%.200s leads to no page.", from)
			}
			from = next.String()
			continue
		}
		d, err := pageOf(from, answer)
		return d, errors.Join(err, answer.Body.Close())
	}
	return document{}, refused("%.200s: there are too many redirects.", from)
}

func pageOf(from string, answer *http.Response) (d document, err error) {
	if answer.StatusCode != http.StatusOK {
		return d, refused("%.200s answers with the status %d.", from, answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	if err != nil {
		return d, refused("%.200s cannot be read: %s", from, errs.Clip(err.Error(), 300))
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return documentOf(from, body, kind == "text/html" || kind == "application/xhtml+xml")
}

// invisible are the elements whose text browsers do not show.
var invisible = []string{"script", "style", "noscript", "template"}

// textOf is the text of a page, without what browsers do not show.
func textOf(page []byte) string {
	var b strings.Builder
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(maxPage)
	hidden := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			if hidden == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if tag := string(name); hidden == "" && slices.Contains(invisible, tag) {
				hidden = tag
			} else {
				b.WriteString(breakOf(tag))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if tag := string(name); tag == hidden {
				hidden = ""
			} else {
				b.WriteString(breakOf(tag))
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			b.WriteString(breakOf(string(name)))
		}
	}
}

// breakOf is what a tag puts between texts.
func breakOf(tag string) string {
	switch tag {
	case "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "pre", "section", "article":
		return "\n\n"
	case "br", "li", "tr", "dt", "dd":
		return "\n"
	case "td", "th":
		return " "
	}
	return ""
}

func isText(content []byte) bool {
	return utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
}

// repository reads the text files of a git remote.
func (k *Knowledge) repository(ctx context.Context, s Source) (all []document, revision string, err error) {
	opened, err := update.Open(ctx, update.Source{From: "git+" + s.URL, Ref: s.Ref, Limit: maxRemote, Anonymous: true}, k.guard)
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", err
		}
		return nil, "", refused("%.200s cannot be read: %s", s.URL, errs.Clip(plain(err), 300))
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	entries, total := 0, 0
	err = fs.WalkDir(opened.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if entries++; entries > maxEntries || len(all) > maxFiles {
			return refused("The repository has more than %d files.", maxFiles)
		}
		if entry.IsDir() {
			own := entry.Name()
			if name != "." && (strings.HasPrefix(own, ".") || own == "node_modules" || own == "vendor") {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := readFile(opened.FS, name)
		if err != nil || !isText(content) || len(content) > maxFile {
			return err
		}
		if total += len(content); total > maxSource {
			return refused("The text files of the repository have more than %d bytes.", maxSource)
		}
		all = append(all, document{path.Clean(name), string(content)})
		return nil
	})
	return all, opened.Commit, err
}

func readFile(set fs.FS, name string) ([]byte, error) {
	file, err := set.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

func plain(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Message
	}
	return fmt.Sprint(err)
}
