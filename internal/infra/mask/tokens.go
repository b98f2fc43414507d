package mask

import "strings"

// shape is what a kind of key looks like: a beginning, and how many characters follow at least.
type shape struct {
	begins string
	least  int
	only   string // the classes of characters that follow: "A" capitals and digits, "w" letters, digits, "_" and "-"
}

// shapes are keys of clouds and services, by their first byte.
var shapes = [256][]shape{
	'A': {{"AKIA", 16, "A"}, {"ASIA", 16, "A"}, {"AIza", 30, "w"}},
	'g': {
		{"ghp_", 30, "w"},
		{"gho_", 30, "w"},
		{"ghu_", 30, "w"},
		{"ghs_", 30, "w"},
		{"ghr_", 30, "w"},
		{"github_pat_", 30, "w"},
		{"glpat-", 16, "w"},
		{"glptt-", 16, "w"},
	},
	'x': {
		{"xoxb-", 10, "w"},
		{"xoxp-", 10, "w"},
		{"xoxa-", 10, "w"},
		{"xoxs-", 10, "w"},
		{"xoxr-", 10, "w"},
		{"xapp-", 10, "w"},
	},
	's': {{"sk-", 20, "w"}, {"sk_live_", 10, "w"}, {"sk_test_", 10, "w"}, {"svc_sk_", 16, "w"}, {"shpat_", 20, "w"},
		{"sq0csp-", 20, "w"}},
	'r': {{"rk_live_", 10, "w"}, {"rk_test_", 10, "w"}},
	'n': {{"npm_", 30, "w"}},
	'd': {{"dop_v1_", 30, "w"}, {"dckr_pat_", 20, "w"}},
	'h': {{"hf_", 30, "w"}, {"hvs.", 20, "w"}},
	'p': {{"pypi-", 30, "w"}},
	'y': {{"ya29.", 20, "w"}},
	'S': {{"SG.", 30, "w"}},
	'G': {{"GOCSPX-", 20, "w"}},
}

// key is where a key that begins at i ends; 0: there is none.
func key(text string, i int) int {
	for _, s := range shapes[text[i]] {
		if !strings.HasPrefix(text[i:], s.begins) {
			continue
		}
		end := i + len(s.begins)
		for end < len(text) && (s.only == "w" && (inToken(text[end]) || text[end] == '.') || s.only == "A" && capital(text[end])) {
			end++
		}
		if end-i-len(s.begins) >= s.least {
			return end
		}
	}
	if text[i] == 'e' && strings.HasPrefix(text[i:], "eyJ") {
		return jwt(text, i)
	}
	return 0
}

func capital(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

func inToken(c byte) bool {
	return c >= 'a' && c <= 'z' || capital(c) || c == '_' || c == '-'
}

// jwt is the end of a JSON Web Token: two parts in base64 that begin an object, and perhaps a signature.
func jwt(text string, i int) int {
	dots, end, part := 0, i, i
	for ; end < len(text); end++ {
		if inToken(text[end]) {
			continue
		}
		if text[end] != '.' || dots == 4 || dots < 2 && end-part < 8 {
			break
		}
		dots++
		part = end + 1
	}
	if dots < 1 || dots == 1 && end-part < 8 {
		return 0
	}
	return end
}

const (
	pemBegin = "-----BEGIN "
	pemKey   = "PRIVATE KEY"
)

// pem finds the body of a private key that begins at i, and where the text goes on.
func pem(text string, i int) (body span, ok bool) {
	rest := text[i:]
	if !strings.HasPrefix(rest, pemBegin) {
		return body, false
	}
	head := strings.Index(rest[len(pemBegin):], "-----")
	if head < 0 || head > 60 || !strings.Contains(rest[len(pemBegin):len(pemBegin)+head], pemKey) {
		return body, false
	}
	from := i + len(pemBegin) + head + len("-----")
	to := len(text)
	if end := strings.Index(text[from:], "-----END"); end >= 0 {
		to = from + end
	}
	for from < to && (text[from] == '\r' || text[from] == '\n') {
		from++
	}
	for to > from && (text[to-1] == '\r' || text[to-1] == '\n') {
		to--
	}
	return span{from, to}, to > from
}
