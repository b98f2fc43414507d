package webtest

import (
	"bytes"
	"context"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// wordSegment is the last segment of the path of a target where it is a value although it looks like a name, as in
// /article/chair. Asked for a word that nothing has, the application answers as it does for a value: neither that the
// page is unknown, nor with what it shows for every unknown address. Or the folder has another page that is built
// alike. Or the page for an unknown word shows it.
func (r *run) wordSegment(ctx context.Context, t *target) (p message.Place, ok bool, err error) {
	if r.Client.Level == client.Passive || t.Response == nil || t.Response.Status/100 != 2 ||
		t.Request.URL.RawQuery != "" || len(t.Request.Body) > 0 || t.Request.Method != http.MethodGet {
		return p, false, nil
	}
	if p, ok = lastSegment(t.Request, t.Places); !ok {
		return p, false, nil
	}
	folder := "no value below " + t.Request.URL.Host + path.Dir(message.PathShape(t.Request.URL.EscapedPath()))
	if r.world.Done(folder) {
		return p, false, nil
	}
	word := kit.Word()
	answer, err := r.world.Send(ctx, t.Target, t.Request.Put(p, word))
	if err != nil {
		return p, false, err
	}
	if answer.Status != t.Response.Status {
		r.world.Once(folder) // one of them is enough
		return p, r.siblings(t, p) || r.toldUnknown(answer, word), nil
	}
	if bytes.Contains(answer.Body, []byte(word)) && answer.IsHTML() == t.Response.IsHTML() {
		return p, true, nil
	}
	unknown := t.Request.Clone()
	unknown.URL.Path, unknown.URL.RawPath = "/"+kit.Word()+"/"+kit.Word(), ""
	other, err := r.world.Send(ctx, t.Target, unknown)
	if err != nil {
		return p, false, err
	}
	return p, other.Status != answer.Status || message.Skeleton(other) != message.Skeleton(answer), nil
}

// toldUnknown reports whether the page for a value that nothing has shows the value: what writes it there reads
// it. Of the first two folders of a host that is looked at.
func (r *run) toldUnknown(answer *message.Response, word string) bool {
	return answer.Status == http.StatusNotFound && answer.IsHTML() && bytes.Contains(answer.Body, []byte(word)) &&
		slices.ContainsFunc([]string{" 1", " 2"}, func(turn string) bool {
			return r.world.Once("unknown values of " + answer.Request.URL.Host + turn)
		})
}

// lastSegment is the last segment of a path that has several, unless it is tested anyway or names a file.
func lastSegment(r *message.Request, tested []message.Place) (last message.Place, ok bool) {
	for _, p := range message.Places(r) {
		if p.Component == message.Path {
			last = p
		}
	}
	for _, p := range tested {
		if p.Component == message.Path {
			return last, false
		}
	}
	number, _ := strconv.Atoi(last.Name)
	return last, number > 1 && !strings.Contains(last.Value, ".") && !strings.HasSuffix(r.URL.Path, "/")
}

// siblings reports whether the map has another page in the same folder that is built as this one, about something else:
// their last segments are values of one page.
func (r *run) siblings(t *target, p message.Place) bool {
	folder, skeleton := path.Dir(t.Request.URL.Path), message.Skeleton(t.Response)
	for _, e := range r.report.Map.Entries {
		if e.Response != nil && e.Request.Method == http.MethodGet && e.Request.URL.Path != t.Request.URL.Path &&
			e.Request.URL.RawQuery == "" && path.Dir(e.Request.URL.Path) == folder && e.Response.Status == t.Response.Status &&
			message.Skeleton(e.Response) == skeleton && !bytes.Equal(e.Response.Body, t.Response.Body) {
			return len(p.Value) > 0
		}
	}
	return false
}
