package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/oracle/event"
	"github.com/vedette-sec/vedette/oracle/lab"
)

// chance matches templates whose requests differ from run to run.
var chance = regexp.MustCompile(`rand|unix_?time|date_?time|interactsh`)

var word = regexp.MustCompile(`[A-Za-z0-9]+`)

// mask makes events of templates with random values or times comparable: each word of an address or a
// value that the template does not contain is replaced by a star.
func mask(text string, events []event.Event) event.Set {
	masked := event.Set{}
	cover := func(s string) string {
		return word.ReplaceAllStringFunc(s, func(w string) string {
			if strings.Contains(text, w) {
				return w
			}
			return "*"
		})
	}
	for _, e := range events {
		e.At = cover(e.At)
		extracted := make([]string, len(e.Extracted))
		for i, v := range e.Extracted {
			extracted[i] = cover(v)
		}
		e.Extracted = extracted
		masked.Add(e)
	}
	return masked
}

func bare(events event.Set) event.Set {
	names := event.Set{}
	for _, e := range events {
		e.At, e.Extracted = "", nil
		names.Add(e)
	}
	return names
}

// cause classifies a disagreement; it is empty when the two agree.
func cause(text string, theirs, ours event.Set, trouble string) string {
	missing, more := theirs.Minus(ours), ours.Minus(theirs)
	if len(missing)+len(more) > 0 && chance.MatchString(text) {
		a, b := mask(text, missing), mask(text, more)
		missing, more = a.Minus(b), b.Minus(a)
	}
	switch {
	case len(missing)+len(more) == 0:
		return ""
	case trouble != "":
		return "vedette does not run it"
	case len(ours) == 0:
		return "vedette finds nothing"
	case len(theirs) == 0:
		return "nuclei finds nothing"
	case len(more) == 0:
		return "vedette finds less"
	case len(missing) == 0:
		return "vedette finds more"
	}
	for name, same := range map[string]func(a, b event.Event) bool{
		"other matched-at":        func(a, b event.Event) bool { b.At = a.At; return a.Key() == b.Key() },
		"other extracted results": func(a, b event.Event) bool { b.Extracted = a.Extracted; return a.Key() == b.Key() },
		"other names": func(a, b event.Event) bool {
			b.Matcher, b.Extractor = a.Matcher, a.Extractor
			return a.Key() == b.Key()
		},
	} {
		if !slices.ContainsFunc(missing, func(a event.Event) bool {
			return !slices.ContainsFunc(more, func(b event.Event) bool { return same(a, b) })
		}) {
			return name
		}
	}
	return "other findings"
}

// printReport prints the result and returns the percentage of templates on which the two agree for every site.
func printReport(w io.Writer, trials []*trial, both bool) float64 {
	refused := map[string]int{}
	fired, sites, agreed := map[lab.Kind]int{}, map[lab.Kind]int{}, map[lab.Kind]int{}
	causes := map[string][]string{}
	tried, same, varied := 0, 0, 0
	for _, t := range trials {
		if t.Refused != "" {
			reason, _, _ := strings.Cut(t.Refused, "\n")
			refused[reason]++
			continue
		}
		tried++
		good := true
		for _, s := range t.Sites {
			sites[s.Kind]++
			if len(s.Theirs) > 0 {
				fired[s.Kind]++
			}
			if s.Varies {
				varied++
			}
			if s.Cause == "" {
				agreed[s.Kind]++
				continue
			}
			good = false
			causes[s.Cause] = append(causes[s.Cause], difference(t, s))
		}
		if good {
			same++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(w, "not tried: %5d  %.120s\n", refused[reason], reason)
	}
	fmt.Fprintf(w, "tried:     %5d templates\n", tried)
	for _, kind := range slices.Sorted(maps.Keys(sites)) {
		fmt.Fprintf(w, "%-9s  %5d sites, nuclei finds something on %d (%.1f %%)", kind, sites[kind], fired[kind],
			percent(fired[kind], sites[kind]))
		if both {
			fmt.Fprintf(w, ", the two agree on %d (%.2f %%)", agreed[kind], percent(agreed[kind], sites[kind]))
		}
		fmt.Fprintln(w)
	}
	if !both {
		return 100
	}
	for _, c := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(w, "\n%s: %d\n%s", c, len(causes[c]), strings.Join(causes[c], ""))
	}
	fmt.Fprintf(w, "\nsites on which nuclei did not say the same every time it was asked: %d\n", varied)
	fmt.Fprintf(w, "agreement on every site: %d of %d templates, %.2f %%\n", same, tried, percent(same, tried))
	return percent(same, tried)
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

const maxShown = 3

func difference(t *trial, s *site) string {
	theirs, ours := event.SetOf(s.Theirs), event.SetOf(s.Ours)
	var out strings.Builder
	fmt.Fprintf(&out, "  %s (%s)", t.Template, s.Kind)
	for _, e := range s.Errors {
		fmt.Fprintf(&out, " %.200q", e)
	}
	if s.Varies {
		out.WriteString(" nuclei varies")
	}
	fmt.Fprintf(&out, " requests: nuclei %d, vedette %d\n", len(s.TheirRequests), len(s.OurRequests))
	for name, rest := range map[string][]event.Event{"nuclei": theirs.Minus(ours), "vedette": ours.Minus(theirs)} {
		for i, e := range rest {
			if i == maxShown {
				fmt.Fprintf(&out, "    %s alone: … and %d more\n", name, len(rest)-i)
				break
			}
			fmt.Fprintf(&out, "    %s alone: matcher=%q extractor=%q extracted=%.200q at=%.200q\n", name, e.Matcher, e.Extractor,
				e.Extracted, e.At)
		}
	}
	return out.String()
}
