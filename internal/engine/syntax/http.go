package syntax

// HTTP is one block of HTTP requests that share operators.
type HTTP struct {
	Line int

	ID      string   `key:"id"` // where a template has several blocks, "http_1" … for those without
	Name    string   `key:"name"`
	Method  string   `key:"method" of:"GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH PURGE DEBUG"` // "" means GET
	Path    []string `key:"path"`
	Raw     []string `key:"raw"`
	Headers []Pair   `key:"headers"`
	Body    string   `key:"body"`
	Threads int      `key:"threads"` // 0 means the engine's own
	PayloadSets

	Redirects            bool   `key:"redirects"`
	HostRedirects        bool   `key:"host-redirects"`
	ProtocolRedirects    bool   `key:"protocol-redirects"`
	MaxRedirects         int    `key:"max-redirects"` // 0 means the default, 10; at most 100
	MaxSize              int    `key:"max-size"`      // bytes of body to read; 0 means the engine's cap
	ReadAll              bool   `key:"read-all"`
	Unsafe               bool   `key:"unsafe"`
	Race                 bool   `key:"race"`
	RaceCount            int    `key:"race_count"`
	Pipeline             bool   `key:"pipeline"`
	PipelineConnections  int    `key:"pipeline-concurrent-connections"`
	PipelineRequests     int    `key:"pipeline-requests-per-connection"`
	StopAtFirstMatch     bool   `key:"stop-at-first-match"`
	SkipVariablesCheck   bool   `key:"skip-variables-check"`
	IterateAll           bool   `key:"iterate-all"`
	CookieReuse          bool   `key:"cookie-reuse"`  // the default; no effect
	ReqCondition         bool   `key:"req-condition"` // no effect
	DisableCookie        bool   `key:"disable-cookie"`
	DigestUsername       string `key:"digest-username"`
	DigestPassword       string `key:"digest-password"`
	Signature            string `key:"signature" of:"AWS"` // default: the template's
	SelfContained        bool   `key:"self-contained"`     // true where the template is
	SkipSecretFile       bool   `key:"skip-secret-file"`
	DisablePathAutomerge bool   `key:"disable-path-automerge"`
	GlobalMatchers       bool   `key:"global-matchers"`

	Fuzzing              []FuzzRule `key:"fuzzing"`
	Analyzer             *Analyzer  `key:"analyzer"`
	PreCondition         []Matcher  `key:"pre-condition"`
	PreConditionOperator string     `key:"pre-condition-operator" of:"and or"` // "" means or
	Operators
	Sealed *Sealed // instead of Operators in templates from the index; else nil
}

// Sealed are valid operators that are not decoded yet.
type Sealed struct {
	Statuses                          []int            // if any, other responses do not match
	ReadsPage, NeedsHistory, UsesOAST bool             // as of package match
	Internal                          []string         // the names of internal extractors
	Payloads                          []string         // the payload sets that they name
	Text                              string           // the encoded operators
	Open                              func() Operators // reads Text; safe for any number of goroutines
}

// FuzzRule says which payloads go where in a request.
type FuzzRule struct {
	Line int

	Type         string   `key:"type" of:"replace prefix postfix infix replace-regex"` // "" means replace
	Part         string   `key:"part" of:"query header path body cookie request"`
	Parts        []string `key:"parts" of:"query header path body cookie request"`
	Mode         string   `key:"mode" of:"single multiple"` // "" means multiple
	Keys         []string `key:"keys"`
	KeysRegex    []string `key:"keys-regex"`
	Values       []string `key:"values"` // regexes on the parameter's value
	Fuzz         Fuzz     `key:"fuzz"`
	ReplaceRegex string   `key:"replace-regex"`
}

// Fuzz is a list of payloads, or payloads by key.
type Fuzz struct {
	Values []string
	Pairs  []Pair
}

// Analyzer evaluates a fuzzed parameter over several requests.
type Analyzer struct {
	Line int

	Name       string     `key:"name" of:"time_delay xss_context true_false"`
	Parameters []Variable `key:"parameters"`
}
