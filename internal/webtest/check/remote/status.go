package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// A checker of links shows nothing of a page but the status of its answer. That number must stand in a slot that the
// answer to a word does not have; an address of no page on the same host must bring the status of the host's error page
// into the same slot, twice; and the path of the page on a host that does not exist must not bring that of the page, as
// an application that knows its own paths would. Five requests, where an answer shows such a number.

// shows looks for a text of the first page, and for its status, in the answer to its address.
func (v *previewed) shows(ctx context.Context, variant string, first *message.Response) (found bool, err error) {
	if found, err = v.try(ctx, variant, first); err != nil || found {
		return found, err
	}
	return v.status(ctx, variant, first)
}

// success is the status of pages that are read.
var success = strconv.Itoa(http.StatusOK)

// status looks for slots with a status in the answer to the address of the first page, and confirms one.
func (v *previewed) status(ctx context.Context, variant string, first *message.Response) (found bool, err error) {
	if v.failure == http.StatusOK || v.failure == 0 {
		return false, nil
	}
	at, failure := v.pages[0].address, strconv.Itoa(v.failure)
	sent, gone := write(variant, at), write(variant, nowhere(at))
	slots := v.numbers(first, sent)
	if len(slots) == 0 {
		return false, nil
	}
	control, err := v.Try(ctx, v.t, v.p, gone)
	if err != nil {
		return false, err
	}
	in := slot{}
	for _, one := range slots {
		if in.text == "" && one.has(control, failure) && !one.has(control, success) {
			in = one
		}
	}
	if in.text == "" {
		return false, nil
	}
	foreign := *at
	foreign.Host = kit.Word() + ".invalid"
	refused, err := v.Try(ctx, v.t, v.p, write(variant, &foreign))
	if err != nil || in.has(refused, success) {
		return false, err
	}
	other := asked(at)
	if len(v.pages) > 1 {
		other = v.pages[1].address
	}
	second, err := v.Try(ctx, v.t, v.p, write(variant, other))
	if err != nil || !in.has(second, success) {
		return false, err
	}
	again, err := v.Try(ctx, v.t, v.p, write(variant, nowhere(at)))
	if err != nil || !in.has(again, failure) {
		return false, err
	}
	v.reportStatus(sent, gone, variant, in, failure, first, control, refused, second)
	return true, nil
}

// asked is an address with a query that says nothing.
func asked(at *url.URL) *url.URL {
	out := *at
	out.RawQuery = kit.Word() + "=1"
	return &out
}

// numbers are the slots of an answer, outside of the address that was sent, that have the status of a page as a number
// of its own, and that the answer to a word does not have.
func (v *previewed) numbers(r *message.Response, sent string) (all []slot) {
	if r.Status/100 == 3 {
		return nil
	}
	body := strings.ReplaceAll(message.Shown(r.Body), sent, " ")
	unknown := v.usual[len(v.usual)-1]
	for from := 0; len(all) < maxSlots; {
		at := strings.Index(body[from:], success)
		if at < 0 {
			return all
		}
		at += from
		from = at + len(success)
		for _, width := range slotWidths {
			in := slot{success, lastOf(body[:at], width[0]), firstOf(body[from:], width[1])}
			if in.before != "" && in.after != "" && !isOfWord(in.before[len(in.before)-1]) && !isOfWord(in.after[0]) &&
				!in.has(unknown, success) {
				all = append(all, in)
			}
		}
	}
	return all
}

// isOfWord reports whether a byte belongs to a word or a number beside it.
func isOfWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || strings.IndexByte("._-+#$", b) >= 0
}

func (v *previewed) reportStatus(sent, gone, variant string, in slot, failure string,
	first, control, refused, second *message.Response,
) {
	user, users := kit.Names(v.t.User)
	match, without := in.before+success+in.after, in.before+failure+in.after
	v.Found(v.c, kit.Finding{Request: first.Request, Place: v.p, Payload: sent, Variant: variant,
		Detail: "the status of the answer at the address comes back",
		Evidence: []kit.Evidence{
			{Request: first.Request, Response: first, Match: match,
				Note: "the status of the page at " + v.pages[0].address.String()},
			{Request: control.Request, Response: control, Match: without,
				Note: "the status of the host's error page, for an address of no page"},
			{Request: refused.Request, Response: refused, Note: "the same path on a host that does not exist brings none"},
			{Request: second.Request, Response: second, Match: match, Note: "another address of a page brings the first again"},
		},
		Proof: &proof.Program{About: "The status of the answer at an address that the request names comes back.", Users: users,
			Steps: []proof.Step{
				{ID: "page", As: user, Send: v.t.Request.Put(v.p, sent),
					Expect: []proof.Expect{{What: proof.Contains, Value: match}}},
				{ID: "nowhere", As: user, Send: v.t.Request.Put(v.p, gone),
					Expect: []proof.Expect{{What: proof.Contains, Value: without}}},
			}}})
}
