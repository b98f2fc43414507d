package client

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Pages that make something each time they are opened, such as the empty draft of a page for a new post, are opened no
// more at level safe once that is seen: a hidden field says that there is a draft, or the number of a new object in a
// hidden field grows from one answer to the next. Only pages are looked at whose address says that they are for
// something new.

var (
	madeWords  = []string{"new", "create", "add", "compose", "write"}
	hiddenTag  = regexp.MustCompile(`(?i)<input[^>]*\btype\s*=\s*["']?hidden\b[^>]*>`)
	draftName  = regexp.MustCompile(`(?i)\bname\s*=\s*["']?[\w-]*draft[\w-]*["'\s/>]`)
	objectName = regexp.MustCompile(`(?i)\bname\s*=\s*["']?[\w-]*id["'\s/>]`)
	isNumber   = regexp.MustCompile(`(?i)\bvalue\s*=\s*["']?(\d{1,15})["'\s/>]`)
	isSet      = regexp.MustCompile(`(?i)\bvalue\s*=\s*(?:["'][^"']|[^"'\s>])`)
)

// maxMade are how many addresses are remembered.
const maxMade = 1000

// made is what is known of a page for something new.
type made struct {
	largest int64 // number in a hidden field
	makes   bool
}

func madeKey(u *url.URL) string { return u.Host + u.Path }

// isForNew reports whether a page is for something new, as its address says.
func isForNew(r *message.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	in := intentOf(r)
	return in.any(madeWords) || in.page(madeWords)
}

// ForNew is equal for pages at one address that are for something new; "" for others. They are best opened one after
// the other: what the first has made is seen then.
func ForNew(r *message.Request) string {
	if !isForNew(r) {
		return ""
	}
	return madeKey(r.URL)
}

// noteMade looks whether a page has made something when it was opened.
func (c *Client) noteMade(r *message.Request, response *message.Response) {
	if c.Level >= Active || response == nil || response.Status != http.StatusOK || !response.IsHTML() ||
		!isForNew(r) || !hiddenTag.Match(response.Body) {
		return
	}
	hasDraft, largest := false, int64(0)
	for _, tag := range hiddenTag.FindAll(response.Body, 200) {
		hasDraft = hasDraft || draftName.Match(tag) && isSet.Match(tag)
		if m := isNumber.FindSubmatch(tag); m != nil && objectName.Match(tag) {
			if n, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
				largest = max(largest, n)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := madeKey(r.URL)
	known, ok := c.made[key]
	if !ok && len(c.made) >= maxMade {
		return
	}
	known.makes = known.makes || hasDraft && largest > 0 || ok && known.largest > 0 && largest > known.largest
	known.largest = largest
	c.made[key] = known
}

// makes reports whether opening a page makes something.
func (c *Client) makes(r *message.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[madeKey(r.URL)].makes
}
