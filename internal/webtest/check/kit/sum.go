package kit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Sum is equal for places that answer alike: by the statuses, by whether the page depends on them, and by where, and
// how much escaped, it shows what was sent. An inert place answers as usual, whatever is sent.
func (r *Reaction) Sum(normal *message.Response) (sum string, isInert bool) {
	contexts := map[string]bool{}
	for at := range occurrences(r.Unknown.Body, []byte(r.Word)) {
		contexts[contextOf(r.Unknown.Body[:at])] = true
	}
	var raw []string
	for _, odd := range []string{`'"`, `"\`, `<z9`} {
		if bytes.Contains(r.Odd.Body, []byte(odd)) && !bytes.Contains(normal.Body, []byte(odd)) {
			raw = append(raw, odd)
		}
	}
	all := make([]string, 0, len(contexts))
	for c := range contexts {
		all = append(all, c)
	}
	slices.Sort(all)
	sum = fmt.Sprint(r.Unknown.Status, r.Odd.Status, r.Effect, r.Echo, all, raw)
	return sum, !r.Effect && !r.Echo && r.Unknown.Status == normal.Status && r.Odd.Status == normal.Status
}

// maxOccurrences is how many places of a page are looked at in which it shows a word.
const maxOccurrences = 20

func occurrences(body, word []byte) func(func(int) bool) {
	return func(yield func(int) bool) {
		for from, n := 0, 0; n < maxOccurrences; n++ {
			at := bytes.Index(body[from:], word)
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + len(word)
		}
	}
}

// contextOf is where in a page something stands: script, comment, text, or the name of the attribute and its quote.
func contextOf(before []byte) string {
	opens, closes := bytes.LastIndexByte(before, '<'), bytes.LastIndexByte(before, '>')
	switch {
	case bytes.LastIndex(before, []byte("<!--")) > bytes.LastIndex(before, []byte("-->")):
		return "comment"
	case bytes.LastIndex(before, []byte("<script")) > bytes.LastIndex(before, []byte("</script")) && closes > opens:
		return "script"
	case opens <= closes:
		return "text"
	}
	tag := string(before[opens:])
	equals := strings.LastIndex(tag, "=")
	if equals < 0 {
		return "tag"
	}
	name := tag[strings.LastIndexAny(tag[:equals], " \t\n<")+1 : equals]
	return name + tag[equals:min(len(tag), equals+2)]
}
