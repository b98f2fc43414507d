package program

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Options override the requests and matchers of all templates of a scan. The zero value changes nothing.
type Options struct {
	// ExcludedMatchers are left out: TEMPLATE:MATCHER by id and name, one of which may be *, or TEMPLATE for all of
	// its matchers.
	ExcludedMatchers []string

	NoRedirects         bool // wins over the other two
	FollowRedirects     bool // everywhere
	FollowHostRedirects bool // on the same host; wins over FollowRedirects
	MaxRedirects        int  // where a template has none, with the two above everywhere; 0: the default

	MaxSize int    // bytes of a body to read; 0 for the template's own
	Attack  string // how payload sets are combined; "" for the template's own

	CodeNetwork bool // programs of code blocks may use the network of the machine

	FuzzType, FuzzMode string // of all fuzzing rules, as in syntax.FuzzRule; "" for their own
}

func (o *Options) excluded(t *syntax.Template) func(matcher string) bool {
	if len(o.ExcludedMatchers) == 0 {
		return nil
	}
	return func(matcher string) bool {
		return slices.ContainsFunc(o.ExcludedMatchers, func(text string) bool {
			id, name, named := strings.Cut(text, ":")
			return id == t.ID && (!named || name == "*" || name == matcher) || id == "*" && named && name == matcher
		})
	}
}

func (o *Options) rules(rules []syntax.FuzzRule) []syntax.FuzzRule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Type, rules[i].Mode = cmp.Or(o.FuzzType, rules[i].Type), cmp.Or(o.FuzzMode, rules[i].Mode)
	}
	return rules
}

func (o *Options) sending(s *syntax.HTTP) sending {
	how := sending{
		maxRedirects: cmp.Or(s.MaxRedirects, o.MaxRedirects), maxBody: int64(cmp.Or(o.MaxSize, s.MaxSize)),
		sameScheme: s.ProtocolRedirects,
		readAll:    s.ReadAll, unsafe: s.Unsafe, automerge: !s.DisablePathAutomerge, newConnection: s.Race || s.Pipeline,
	}
	forced := o.FollowRedirects || o.FollowHostRedirects
	if forced && o.MaxRedirects > 0 {
		how.maxRedirects = o.MaxRedirects
	}
	switch {
	case o.NoRedirects:
	case o.FollowHostRedirects, !forced && s.HostRedirects:
		how.redirects = web.HostRedirects
	case forced, s.Redirects:
		how.redirects = web.AllRedirects
	}
	return how
}
