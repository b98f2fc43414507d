package ssl

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// suites.txt are the cipher suites of the IANA registry, as number and name.
//
//go:embed suites.txt
var suitesText string

// suite is a cipher suite.
type suite struct {
	id   uint16
	name string
}

var suites = sync.OnceValue(func() (all []suite) {
	for line := range strings.Lines(suitesText) {
		var s suite
		if _, err := fmt.Sscanf(line, "%x %s", &s.id, &s.name); err != nil {
			panic(err)
		}
		all = append(all, s)
	}
	return all
})

// suiteName is the name of a cipher suite.
func suiteName(id uint16) string {
	if i := slices.IndexFunc(suites(), func(s suite) bool { return s.id == id }); i >= 0 {
		return suites()[i].name
	}
	return fmt.Sprintf("0x%04X", id)
}

// suiteID is the number of a cipher suite; false for an unknown name.
func suiteID(name string) (uint16, bool) {
	i := slices.IndexFunc(suites(), func(s suite) bool { return strings.EqualFold(s.name, name) })
	if i < 0 {
		return 0, false
	}
	return suites()[i].id, true
}

// The strengths of cipher suites.
const (
	insecure = "insecure"
	weak     = "weak"
	secure   = "secure"
)

// strength judges a suite by its name: without encryption or authentication, or with a broken cipher or hash, it is
// insecure; without forward secrecy, or with CBC or 3DES, weak.
func (s suite) strength() string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s.name, p) })
	}
	switch {
	case has("_NULL_", "_ANON_", "EXPORT", "_RC4_", "_DES_", "_DES40_", "_RC2_", "_MD5", "KRB5"),
		strings.HasSuffix(s.name, "_NULL"):
		return insecure
	case s.tls13():
		return secure
	case !has("_ECDHE_", "_DHE_"), has("_CBC_", "_3DES_"):
		return weak
	}
	return secure
}

// tls13 reports whether a suite is one of TLS 1.3.
func (s suite) tls13() bool { return s.id>>8 == 0x13 }

// suitesFor are the suites of some strengths that a version of TLS can use; all with "all".
func suitesFor(version uint16, strengths []string) (ids []uint16) {
	for _, s := range suites() {
		if s.tls13() == (version == versionTLS13) &&
			(slices.Contains(strengths, "all") || slices.Contains(strengths, s.strength())) {
			ids = append(ids, s.id)
		}
	}
	return ids
}
