package builtin

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
)

const (
	count   = `(\d{1,9}(?:\.\d{1,3})?|a|an|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|half an)`
	atMost  = `(?:(?:(?:please|do|must|should|never|may|can)\s+)*(?:not|don't|don’t|never|cannot|can't)\s+(?:[a-z]+\s+){0,2}?)?(?:(?:no|not|never)\s+)?(?:(?:more|longer|faster|higher|less)\s+than\s+|exceed(?:ing)?\s+|at\s+most\s+|up\s+to\s+|max(?:imum)?(?:\s+of)?\s*[:=]?\s*|limit(?:ed)?(?:\s+(?:to|of|the\s+rate\s+to))?\s*[:=]?\s*|below\s+|under\s+)?`
	rateTag = `(?:(?:rate(?:[\s_-]*limit(?:ed|ing)?)?|throttled?)(?:\s+(?:to|of|at|is))?\s*[:=]?\s*)?`
)

var (
	rateShape = shape(`(?i)\b` + rateTag + atMost + count +
		`\s*(?:(?:http\s+)?(?:requests?|reqs?|hits?|calls?|queries|packets?)\s*(?:per|/|an?|each|every)\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)|(rps|qps|rpm))\b`)
	taggedRate = shape(`(?i)\b(?:rate(?:[\s_-]*limit(?:ed|ing)?)?|throttled?)(?:\s+(?:to|of|at|is))?\s*[:=]?\s*` + atMost +
		count + `(?:\s*(?:per|/|an?)\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h))?(?:()\b)`)
	timeShape = shape(`(?i)\b(?:(?:and\s+)?(?:finish(?:ed)?|complete[d]?|stop|end|done|ready|be\s+done|abort|quit|run|take)\s+)?` +
		`(?:within|(?:finish(?:ed)?|complete[d]?|done|ready)\s+in|in\s+(?:under|less\s+than|at\s+most)|under|at\s+most|after|for(?:\s+(?:at\s+most|up\s+to|no\s+more\s+than|no\s+longer\s+than))?|up\s+to|max(?:imum)?(?:\s+(?:of|duration|time|runtime))?\s*[:=]?|` +
		`(?:(?:do\s+not|don't|must\s+not|should\s+not|never)\s+(?:run|take|spend|last)\s+|it\s+must\s+not\s+take\s+)?(?:(?:no|not)\s+)?(?:more|longer)\s+than|less\s+than|time(?:[\s_-]*(?:limit|box|budget|out))?(?:\s+(?:of|is))?\s*[:=]?|timebox(?:ed)?(?:\s+to)?|duration\s*[:=]?|you\s+have)\s+?` +
		count + `\s*-?\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b`)
)

var numbers = map[string]float64{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten":     10,
	"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100,
	"half an": 0.5,
}

func amount(s string) float64 {
	s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
	if n, ok := numbers[s]; ok {
		return n
	}
	n, _ := strconv.ParseFloat(s, 64)
	return n
}

// unit is a unit of time in seconds.
func unit(s string) float64 {
	switch strings.ToLower(s + " ")[0] {
	case 'm':
		return 60
	case 'h':
		return 3600
	case 'd':
		return 86400
	}
	return 1
}

// The widest limits that are used; others are reported.
const (
	maxRate    = 100_000        // a second
	maxSeconds = 30 * 24 * 3600 // a month
)

// limits takes the rate and the time limit out of the text and blanks them, so that "do not send more than" is not
// read as an exclusion.
func (b *builder) limits(text string) string {
	for _, shape := range []*regexp.Regexp{rateShape(), taggedRate()} {
		text = blankAll(text, shape, func(m []string) {
			per := m[2]
			if strings.EqualFold(m[3], "rpm") {
				per = "m"
			}
			rate := amount(m[1]) / unit(per)
			if rate <= 0 || rate > maxRate {
				b.notUnderstood(m[0], fmt.Sprintf("a rate must be above 0 and at most %d requests a second", maxRate))
				return
			}
			if b.plan.RateLimit == 0 || rate < b.plan.RateLimit {
				b.plan.RateLimit = max(math.Round(rate*1000)/1000, 0.001)
			}
		})
	}
	return blankAll(text, timeShape(), func(m []string) {
		seconds := amount(m[1]) * unit(m[2])
		if seconds < 1 || seconds > maxSeconds {
			b.notUnderstood(m[0], "a time limit must be between one second and 30 days")
		} else if n := int(seconds); b.plan.TimeLimit == 0 || n < b.plan.TimeLimit {
			b.plan.TimeLimit = n
		}
	})
}

// blankAll calls use for each match of shape and replaces it by spaces.
func blankAll(text string, shape *regexp.Regexp, use func(m []string)) string {
	return shape.ReplaceAllStringFunc(text, func(match string) string {
		use(shape.FindStringSubmatch(match))
		return strings.Repeat(" ", len(match))
	})
}

var portShape = shape(`^(\d{1,7})(?:[-–](\d{1,7}))?$`)

const maxPorts = 1000

// ports reads "port 8080" and "ports 80, 443 and 8000 to 8010".
func (b *builder) ports() {
	for i := range b.tokens {
		t := b.tokens[i]
		if t.kind != word || t.norm != "port" {
			continue
		}
		j := i + 1
		for b.at(j).kind == colon || b.at(j).kind == word &&
			(b.at(j).norm == "number" || b.at(j).norm == "on" || b.at(j).norm == "is") {
			j++
		}
		for used := b.portAt(j, t); used > 0; used = b.portAt(j, t) {
			b.tokens[i].consumed = true
			b.consume(j, used)
			j += used
			for b.at(j).kind == comma || b.at(j).kind == word && (b.at(j).norm == "and" || b.at(j).norm == "or") ||
				b.at(j).kind == stop && b.at(j).text == ";" {
				j++
			}
		}
	}
}

// portAt reads a port or range at i and returns its length in tokens, or 0.
func (b *builder) portAt(i int, head token) int {
	m := portShape().FindStringSubmatch(b.at(i).text)
	if m == nil || b.at(i).kind != word {
		return 0
	}
	used, from, to := 1, m[1], m[2]
	if link := b.at(i + 1); to == "" && link.kind == word &&
		slices.Contains([]string{"to", "through", "-", "–", "until"}, link.text) {
		if next := portShape().FindStringSubmatch(b.at(i + 2).text); next != nil && next[2] == "" {
			used, to = 3, next[1]
		}
	}
	if after := b.at(i + used); after.kind == comma && after.text == "" &&
		(b.at(i+used+1).norm == "tcp" || b.at(i+used+1).norm == "udp") {
		used += 2
	}
	first, _ := strconv.Atoi(from)
	last := first
	if to != "" {
		last, _ = strconv.Atoi(to)
	}
	b.addPorts(first, last, b.tokens[i].excluded || head.excluded)
	return used
}

func (b *builder) addPorts(first, last int, excluded bool) {
	written := strconv.Itoa(first)
	if last != first {
		written += "-" + strconv.Itoa(last)
	}
	switch {
	case first < 1 || last > 65535 || last < first:
		b.notUnderstood("port "+written, "ports are numbers from 1 to 65535")
	case excluded && last-first >= maxPorts, !excluded && len(b.plan.Ports)+last-first >= maxPorts:
		b.notUnderstood("port "+written, fmt.Sprintf("at most %d ports can be given", maxPorts))
		b.blocked = b.blocked || excluded
	case excluded:
		for p := first; p <= last; p++ {
			b.exclude(agent.Target{Raw: written, Kind: agent.KindPort, Port: p})
		}
	default:
		for p := first; p <= last; p++ {
			b.plan.Ports = append(b.plan.Ports, p)
		}
	}
}

// ranks are the severities, most severe first.
var ranks = []string{"critical", "high", "medium", "low", "info"}

var severityWords = map[string]int{
	"critical": 0, "crit": 0, "high": 1, "medium": 2, "moderate": 2, "low": 3, "info": 4, "informational": 4,
	"information": 4,
}

var severityContext = set("severity,risk,finding,issue,vulnerability,vuln,only,least,minimum,min,worse,higher,above,level,report,ignore,skip,rated,bug,problem,weakness,up,greater,just,nothing,below,upward,impact,or,cve,and,exclude,omit")

// severities reads "only critical and high", "high or worse", "at least medium", "ignore info". A word such as high
// counts only near other words about severities.
func (b *builder) severities() {
	var wanted, unwanted [5]bool
	for i := 0; i < len(b.tokens); i++ {
		if !b.severityAt(i) {
			continue
		}
		before, after := b.wordsBefore(i), b.wordsAfter(i+1)
		if !inSeverityContext(before, after) {
			continue
		}
		from, to, n := span(b.tokens[i].norm, before, after)
		b.consume(i, 1+n)
		for rank := range ranks {
			if rank < from || rank > to {
				continue
			}
			if b.tokens[i].negated && !slices.Contains(before, "below") && !slices.Contains(before, "under") {
				unwanted[rank] = true
			} else {
				wanted[rank] = true
			}
		}
		i += n
	}
	b.keepSeverities(wanted, unwanted)
}

// keepSeverities keeps the wanted ones, or all, without the unwanted.
func (b *builder) keepSeverities(wanted, unwanted [5]bool) {
	none := [5]bool{}
	if wanted == none && unwanted == none {
		return
	}
	for rank, name := range ranks {
		if (wanted == none || wanted[rank]) && !unwanted[rank] {
			b.plan.Severities = append(b.plan.Severities, name)
		}
	}
	if len(b.plan.Severities) == 0 {
		b.notUnderstood("severities", "every severity was left out, so this was not used")
	}
}

func (b *builder) severityAt(i int) bool {
	t := b.at(i)
	_, ok := severityWords[strings.TrimSuffix(t.norm, "+")]
	return ok && t.kind == word && (t.norm != "information" || b.at(i+1).norm == "severity")
}

// wordsBefore and wordsAfter are a few words of the same sentence.
func (b *builder) wordsBefore(i int) []string {
	var list []string
	for j := i - 1; j >= max(i-5, 0) &&
		(b.tokens[j].kind == word || b.tokens[j].kind == comma || b.tokens[j].kind == colon); j-- {
		list = append(list, b.tokens[j].norm)
	}
	return list
}

func (b *builder) wordsAfter(i int) []string {
	var list []string
	for j := i; j < min(i+6, len(b.tokens)) &&
		(b.tokens[j].kind == word || b.tokens[j].kind == comma || b.tokens[j].kind == closing); j++ {
		list = append(list, b.tokens[j].norm)
	}
	return list
}

func inSeverityContext(before, after []string) bool {
	near := func(list []string, n int) bool {
		return slices.ContainsFunc(list[:min(n, len(list))], func(w string) bool {
			_, rank := severityWords[w]
			return rank || severityContext()[w] && w != "and" && w != "or"
		})
	}
	return near(before, 3) || near(after, 3)
}

// span is the range of ranks that a severity stands for, and how many of the words after it say so.
func span(name string, before, after []string) (from, to, n int) {
	rank := severityWords[strings.TrimSuffix(name, "+")]
	has := func(list []string, n int, words ...string) bool {
		return slices.ContainsFunc(list[:min(n, len(list))], func(w string) bool { return slices.Contains(words, w) })
	}
	up := strings.HasSuffix(name, "+") || has(before, 3, "least", "minimum", "min", "threshold", "below", "under", "floor")
	for k, w := range after {
		if k < 4 && slices.Contains([]string{"worse", "higher", "above", "up", "upward", "greater"}, w) &&
			has(after[:k], 3, "or", "and") {
			return 0, rank, k + 1
		}
		if k < 4 && slices.Contains([]string{"lower", "below"}, w) && has(after[:k], 3, "or", "and") {
			return rank, 4, k + 1
		}
		if _, ok := severityWords[w]; ok {
			break
		}
	}
	if up {
		return 0, rank, 0
	}
	return rank, rank, 0
}
