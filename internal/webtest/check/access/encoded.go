package access

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// memberNumber is the value of a member of an object of JSON that is a whole number, also in quotes.
var memberNumber = regexp.MustCompile(`:\s*"?(\d{1,9})"?\s*[,}]`)

// seriesOfObject is the series of an object of JSON that has one number, as an application writes it in Base64 into an
// address; nil for others.
func seriesOfObject(text []byte) *series {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil
	}
	all := memberNumber.FindAllSubmatchIndex(text, 2)
	if len(all) != 1 {
		return nil
	}
	from, to := all[0][2], all[0][3]
	n, err := strconv.Atoi(string(text[from:to]))
	if err != nil || strconv.Itoa(n) != string(text[from:to]) {
		return nil
	}
	before, behind := string(text[:from]), string(text[to:])
	return &series{n, func(n int) string { return before + strconv.Itoa(n) + behind }}
}
