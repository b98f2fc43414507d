package audit

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// maxQuery is how long a search may be, in characters.
const maxQuery = 200

// Search are the entries of the caller's team that one word picks, newest first. What the
// word is decides where it is looked for: the status of an answer, a source, an IP
// address, an e-mail address, an HTTP method, a path; anything else in the path, in the
// operation's id and in the id of what it was about. It fails with Invalid for an empty
// word and for one of more than 200 characters.
func (l *Log) Search(ctx context.Context, q string, window page.Window) ([]Entry, error) {
	q = strings.TrimSpace(q)
	if n := len([]rune(q)); n == 0 || n > maxQuery {
		return nil, errs.Field("q", "q must have 1 to %d characters.", maxQuery)
	}
	return l.find(ctx, conditions(q, l.db.Dialect), window)
}

// pathAndName is one text to look in, which costs half of looking in each.
const pathAndName = "path || '\n' || action"

// conditions are what a searched word means.
func conditions(q string, d db.Dialect) (w db.Where) {
	contains := func(column string) { w.And(d.Contains(column, q)) }
	addr, notAddr := netip.ParseAddr(q)
	switch {
	case isStatus(q):
		status, _ := strconv.Atoi(q) // isStatus has seen that it is a number
		w.And("status = ?", status)
	case slices.Contains([]Source{API, Platform, Unknown}, Source(strings.ToLower(q))):
		w.And("source = ?", strings.ToLower(q))
	case notAddr == nil:
		w.And("ip = ?", addr.Unmap().WithZone("").String())
	case strings.Contains(q, "@"):
		contains("email")
	case isMethod(strings.ToUpper(q)):
		w.And("method = ?", strings.ToUpper(q))
	case strings.Contains(q, "/"):
		contains(pathAndName)
	default:
		contains(pathAndName + " || '\n' || object_id")
	}
	return w
}

func isMethod(q string) bool {
	switch q {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return true
	}
	return false
}

// isStatus reports whether q is a status that an HTTP answer may have.
func isStatus(q string) bool {
	return len(q) == 3 && q[0] >= '1' && q[0] <= '5' && strings.Trim(q, "0123456789") == ""
}
