package port

import (
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const maxSpec = 512 << 10 // bytes of a list; all ports one by one are shorter

// Parse reads a list of ports: numbers, ranges and the names top-100, top-1000 and full, with commas
// ("80,443,8000-8100", "top-100,31337"). It gives every port once, the likeliest first and the others ascending. The
// error is an *errs.Error of the field ports that names the wrong item.
func Parse(spec string) ([]uint16, error) {
	if len(spec) > maxSpec {
		return nil, errs.Field("ports", "The list of ports is longer than %d bytes.", maxSpec)
	}
	var want [65536]bool
	n := 0
	for item := range strings.SplitSeq(spec, ",") {
		for part := range strings.SplitSeq(expand(strings.TrimSpace(item)), ",") {
			low, high, ok := bounds(part)
			if !ok {
				return nil, errs.Field("ports", "%q is not a port from 1 to 65535, a range such as 8000-8100, top-100, "+
					"top-1000 or full.", errs.Clip(item, 64))
			}
			for p := low; p <= high; p++ {
				if !want[p] {
					want[p], n = true, n+1
				}
			}
		}
	}
	list := make([]uint16, 0, n)
	for _, sooner := range []string{first, top100, top1000, full} {
		for part := range strings.SplitSeq(sooner, ",") {
			low, high, _ := bounds(part)
			for p := low; p <= high; p++ {
				if want[p] {
					want[p], list = false, append(list, uint16(p))
				}
			}
		}
	}
	return list, nil
}

const full = "1-65535"

// expand is the list of a name, or the item itself.
func expand(item string) string {
	switch strings.ToLower(item) {
	case "top-100":
		return top100
	case "top-1000":
		return top1000
	case "full":
		return full
	}
	return item
}

func bounds(part string) (low, high int, ok bool) {
	a, b, ranged := strings.Cut(part, "-")
	if !ranged {
		b = a
	}
	low, okLow := number(a)
	high, okHigh := number(b)
	return low, high, okLow && okHigh && low <= high
}

func number(s string) (int, bool) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil && n > 0 && s[0] != '+'
}
