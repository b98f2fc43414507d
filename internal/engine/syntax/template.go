// Package syntax reads templates: YAML bytes in, a *Template that says exactly what was
// written out, or an error that names file, line, column and key.
//
// It judges the form only. What a build can run is decided one room further, in
// program: keys of the language that no engine runs yet are kept in Template.Later, so
// that compiling can refuse them by name; keys that are not in the language at all are
// refused here.
package syntax

// Template is one template as written. It is not changed after Parse.
type Template struct {
	Path   string // where it came from, for messages and events
	ID     string
	Info   Info
	Digest string // sha256 of Raw, lower-case hex
	Raw    []byte // the bytes it was read from

	Variables        []Pair // in written order
	Constants        []Pair
	StopAtFirstMatch bool
	HTTP             []HTTP

	Later []Later // what was asked for and no engine runs yet, in written order
}

// Pair is a name and its text.
type Pair struct {
	Name, Value string
	Line        int
}

// Later is a key of the language that the engines of this build do not run.
type Later struct {
	Key  string // such as "http.raw" or "flow"
	Line int    // from 1
}

// HTTP is one block of HTTP requests that share matchers.
type HTTP struct {
	Line int

	ID, Name         string
	Method           string // upper case; "" means GET
	Path             []string
	Headers          []Pair
	Body             string
	Redirects        bool
	HostRedirects    bool
	MaxRedirects     int // 0 means the default, 10
	MaxSize          int // bytes of body to read; 0 means the engine's cap
	StopAtFirstMatch bool

	MatchersCondition string // "and", "or" or ""
	Matchers          []Matcher
	Extractors        []Extractor
}

// Matcher is one test of a response.
type Matcher struct {
	Line int

	Type            string // status, size, word, regex, binary, dsl, xpath
	Name            string
	Part            string // "" means body
	Condition       string // "and", "or" or "", which means or
	Encoding        string // "hex" or ""
	Negative        bool
	Internal        bool
	MatchAll        bool
	CaseInsensitive bool

	Status []int
	Size   []int
	Words  []string
	Regex  []string
	Binary []string
	DSL    []string
	XPath  []string
}

// Extractor takes values out of a response.
type Extractor struct {
	Line int

	Type            string // regex, kval, json, xpath, dsl
	Name            string
	Part            string // "" means body
	Group           int
	Internal        bool
	CaseInsensitive bool
	Attribute       string

	Regex []string
	KVal  []string
	JSON  []string
	XPath []string
	DSL   []string
}
