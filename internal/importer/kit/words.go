package kit

import (
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var severityWords = map[string]Severity{
	"critical": Critical, "crit": Critical, "blocker": Critical, "fatal": Critical, "urgent": Critical,
	"high": High, "error": High, "major": High, "important": High, "serious": High, "danger": High,
	"medium": Medium, "moderate": Medium, "warning": Medium, "warn": Medium, "minor": Low,
	"low": Low, "notice": Low, "negligible": Info, "info": Info, "informational": Info, "information": Info,
	"informative": Info, "note": Info, "none": Info, "log": Info, "ok": Info, "bestpractice": Info, "best practice": Info,
}

// SeverityOf maps the words that most tools use; Unknown for others. Formats whose words mean something else have a
// table of their own.
func SeverityOf(word string) Severity {
	if s, ok := severityWords[strings.ToLower(strings.TrimSpace(word))]; ok {
		return s
	}
	return Unknown
}

// SeverityOfScore maps a CVSS score by the rating scale of CVSS 3.
func SeverityOfScore(score float64) Severity {
	switch {
	case math.IsNaN(score) || score < 0 || score > 10:
		return Unknown
	case score == 0:
		return Info
	case score < 4:
		return Low
	case score < 7:
		return Medium
	case score < 9:
		return High
	}
	return Critical
}

var (
	cvePattern   = regexp.MustCompile(`(?i)\bCVE-\d{4}-\d{4,7}\b`)
	cwePattern   = regexp.MustCompile(`(?i)\bCWE[-_ :]{0,2}(\d{1,5})\b`)
	otherPattern = regexp.MustCompile(`(?i)\b(?:GHSA(?:-[0-9a-z]{4}){3}|(?:RUSTSEC|PYSEC|GO|DSA|DLA|USN|RHSA|ELSA|TEMP|ALAS|MAL|OSV|GMS)-[0-9][0-9A-Za-z:.-]{3,40})\b`)
	urlPattern   = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>\x60\\,)\]]+`)
	tagPattern   = regexp.MustCompile(`<[a-zA-Z/][^>]{0,200}>`)
)

// CVEs are the CVE ids in the texts, in upper case, each once.
func CVEs(texts ...string) (all []string) {
	for _, t := range texts {
		for _, id := range cvePattern.FindAllString(clip(t, maxText), maxList) {
			if id = strings.ToUpper(id); !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// OtherIDs are the ids of other databases of vulnerabilities in the texts, such as GHSA-….
func OtherIDs(texts ...string) (all []string) {
	for _, t := range texts {
		for _, id := range otherPattern.FindAllString(clip(t, maxText), maxList) {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// CWEs are the numbers of weaknesses in the texts: CWE-79, cwe79, or a bare number.
func CWEs(texts ...string) (all []int) {
	for _, t := range texts {
		t = strings.TrimSpace(clip(t, maxText))
		if n, err := strconv.Atoi(t); err == nil && n > 0 && n < 100000 {
			all = append(all, n)
			continue
		}
		for _, m := range cwePattern.FindAllStringSubmatch(t, maxList) {
			if n := Int(m[1]); n > 0 {
				all = append(all, n)
			}
		}
	}
	return all
}

// URLs are the web addresses in a text.
func URLs(texts ...string) (all []string) {
	for _, t := range texts {
		for _, u := range urlPattern.FindAllString(clip(t, maxText), maxList) {
			all = append(all, strings.TrimRight(u, ".;"))
		}
	}
	return all
}

// Plain takes the HTML tags out of a text and decodes its entities.
func Plain(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return strings.TrimSpace(text)
	}
	text = tagPattern.ReplaceAllStringFunc(clip(text, maxText), func(tag string) string {
		name := strings.ToLower(strings.Trim(tag, "</> "))
		if name == "p" || name == "li" || name == "ul" || strings.HasPrefix(name, "br") || name == "div" {
			return "\n"
		}
		return ""
	})
	lines := strings.Split(html.UnescapeString(text), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Int is the whole number that a text begins with; 0 without one or out of range.
func Int(text string) int {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && end < 19 && (text[end] >= '0' && text[end] <= '9' || end == 0 && text[end] == '-') {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return 0
	}
	return n
}

// Float is the number that a text is; 0 without one.
func Float(text string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// Score is a CVSS from a vector and a score as tools write them; nothing when both are missing. The version is that of
// the vector, else the given one.
func Score(version, vector string, score float64) []CVSS {
	vector = strings.Trim(strings.TrimSpace(vector), "()")
	if label, rest, found := strings.Cut(vector, "#"); found && strings.HasPrefix(label, "CVSS") {
		vector = rest // Nessus writes CVSS2#AV:N/…
	}
	if score < 0 || score > 10 || math.IsNaN(score) {
		score = 0
	}
	if vector == "" && score == 0 {
		return nil
	}
	switch {
	case strings.HasPrefix(vector, "CVSS:"):
		version, _, _ = strings.Cut(vector[5:], "/")
	case strings.Contains(vector, "Au:"):
		version = "2.0"
	case strings.Contains(vector, "/PR:") && !strings.HasPrefix(version, "3"):
		version = "3.0"
	}
	return []CVSS{{Version: clip(version, 8), Vector: clip(vector, 256), Score: score}}
}

var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05 MST", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05",
	"2006/01/02", time.RFC1123Z, time.RFC1123, time.ANSIC, time.UnixDate, "Mon, 2 Jan 2006 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05", "Mon Jan 02 15:04:05 MST 2006",
	"Mon Jan 2 15:04:05 2006", "Jan 2, 2006 15:04:05 MST", "Jan 2, 2006 15:04:05", "Jan 2, 2006 3:04:05 PM",
	"Jan 02 2006 15:04:05", "Jan 2 2006", "Jan 2, 2006", "January 2, 2006", "2 Jan 2006 15:04:05",
	"2 Jan 2006 3:04PM MST-0700", "02 Jan 2006 03:04PM MST", "2 Jan 2006", "20060102", "20060102-1504",
}

// Time reads a time as tools write it; times without a zone are taken as UTC. Seconds, milliseconds, microseconds and
// nanoseconds since 1970 are told apart by their size. Zero when it is no time. Dates with slashes that begin with a
// day or a month are ambiguous: formats give their own layouts first.
func Time(text string, own ...string) time.Time {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 {
		return time.Time{}
	}
	for _, layout := range own {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && len(text) > 8 {
		return epoch(f)
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil && t.Year() > 1970 {
			return t.UTC()
		}
	}
	return time.Time{}
}

func epoch(f float64) time.Time {
	for _, unit := range []float64{1e9, 1e6, 1e3} {
		if f > 1e11*unit/1e3 {
			f /= unit
			break
		}
	}
	if f < 1e8 || f > 1e11 {
		return time.Time{}
	}
	whole, part := math.Modf(f)
	return time.Unix(int64(whole), int64(part*1e9)).UTC().Truncate(time.Microsecond)
}

// PURL makes the parts of a package from its purl; other text is taken as a name.
func PURL(text string) Package {
	p := Package{PURL: text}
	rest, ok := strings.CutPrefix(text, "pkg:")
	if !ok {
		return Package{Name: text}
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	kind, rest, ok := strings.Cut(strings.TrimLeft(rest, "/"), "/")
	if !ok {
		return p
	}
	p.Ecosystem = strings.ToLower(kind)
	if at := strings.LastIndexByte(rest, '@'); at > 0 {
		p.Version, rest = unescape(rest[at+1:]), rest[:at]
	}
	name := rest
	if slash := strings.LastIndexByte(rest, '/'); slash >= 0 {
		p.Namespace, name = unescape(rest[:slash]), rest[slash+1:]
	}
	p.Name = unescape(name)
	if p.Namespace != "" {
		switch p.Ecosystem {
		case "npm", "golang", "composer", "github", "swift":
			p.Name = p.Namespace + "/" + p.Name
		case "maven", "gradle":
			p.Name = p.Namespace + ":" + p.Name
		}
	}
	return p
}
