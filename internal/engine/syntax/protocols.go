package syntax

// DNS is one DNS question.
type DNS struct {
	Line int

	ID                string   `key:"id"`
	Name              string   `key:"name"`
	Type              string   `key:"type" of:"A NS DS CNAME SOA PTR MX TXT AAAA CAA TLSA ANY SRV"` // "" means A
	Class             string   `key:"class" of:"inet csnet chaos hesiod none any"`                  // "" means inet
	Retries           int      `key:"retries"`                                                      // 0 means 3
	Recursion         *bool    `key:"recursion"`                                                    // nil where it is not written
	Resolvers         []string `key:"resolvers"`
	Trace             bool     `key:"trace"`
	TraceMaxRecursion int      `key:"trace-max-recursion"`
	Threads           int      `key:"threads"`
	PayloadSets
	Operators
}

// TCP is a dialogue over TCP or TLS.
type TCP struct {
	Line int

	ID               string   `key:"id"`
	Host             []string `key:"host"`
	Port             string   `key:"port"` // numbers or names of services, with commas
	ExcludePorts     string   `key:"exclude-ports"`
	Inputs           []Input  `key:"inputs"`
	ReadSize         int      `key:"read-size"` // 0 means 1024
	ReadAll          bool     `key:"read-all"`
	StopAtFirstMatch bool     `key:"stop-at-first-match"`
	Threads          int      `key:"threads"`
	PayloadSets
	Operators
}

// Input is a message to send, and what to read after it.
type Input struct {
	Line int

	Data string `key:"data"`
	Type string `key:"type" of:"hex text"` // "" means text
	Read int    `key:"read"`               // bytes
	Name string `key:"name"`
}

// SSL is a TLS handshake.
type SSL struct {
	Line int

	ID             string   `key:"id"`
	Address        string   `key:"address"`
	MinVersion     string   `key:"min_version" of:"sslv3 ssl30 tls10 tls11 tls12 tls13"`
	MaxVersion     string   `key:"max_version" of:"sslv3 ssl30 tls10 tls11 tls12 tls13"`
	CipherSuites   []string `key:"cipher_suites"`
	ScanMode       string   `key:"scan_mode" of:"ctls ztls openssl auto"` // "" means auto
	TLSVersionEnum bool     `key:"tls_version_enum"`
	TLSCipherEnum  bool     `key:"tls_cipher_enum"`
	TLSCipherTypes []string `key:"tls_cipher_types" of:"weak secure insecure all"`
	Operators
}

// Websocket is a dialogue in text frames.
type Websocket struct {
	Line int

	ID      string  `key:"id"`
	Address string  `key:"address"`
	Headers []Pair  `key:"headers"`
	Inputs  []Frame `key:"inputs"`
	PayloadSets
	Operators
}

// Frame is a text to send.
type Frame struct {
	Line int

	Data string `key:"data"`
	Name string `key:"name"`
}

// Whois is a question about a registration.
type Whois struct {
	Line int

	ID     string `key:"id"`
	Query  string `key:"query"`
	Server string `key:"server"`
	Operators
}

// File searches files.
type File struct {
	Line int

	ID          string   `key:"id"`
	Extensions  []string `key:"extensions"`
	DenyList    []string `key:"denylist"`
	MaxSize     string   `key:"max-size"` // such as 10Mb
	Archive     bool     `key:"archive"`
	MIMEType    bool     `key:"mime-type"`
	NoRecursive bool     `key:"no-recursive"`
	Operators
}

// Headless is a sequence of steps in a browser.
type Headless struct {
	Line int

	ID               string     `key:"id"`
	Steps            []Action   `key:"steps"`
	UserAgent        string     `key:"user_agent" of:"random off default custom"` // "" means random
	CustomUserAgent  string     `key:"custom_user_agent"`
	StopAtFirstMatch bool       `key:"stop-at-first-match"`
	DisableCookie    bool       `key:"disable-cookie"`
	CookieReuse      bool       `key:"cookie-reuse"` // the default; no effect
	Fuzzing          []FuzzRule `key:"fuzzing"`
	PayloadSets
	Operators
}

// Action is a step in a browser.
type Action struct {
	Line int

	Action string `key:"action" of:"navigate script click rightclick text screenshot time select files waitdom waitfcp waitfmp waitidle waitload waitstable waitvisible waitevent waitdialog getresource extract setmethod addheader setheader deleteheader setbody keyboard debug sleep"`

	Name        string `key:"name"`
	Description string `key:"description"`
	Args        []Pair `key:"args"`
}

// Code is a program that runs on the scanning machine.
type Code struct {
	Line int

	ID           string   `key:"id"`
	Engine       []string `key:"engine"`
	Source       string   `key:"source"` // the program, or the name of its file
	Args         []string `key:"args"`
	Pattern      string   `key:"pattern"`
	PreCondition string   `key:"pre-condition"` // JavaScript
	Sandbox      *Sandbox `key:"sandbox"`
	Operators
}

// Sandbox is the container of a program.
type Sandbox struct {
	Line int

	Image      string `key:"image"`
	WorkingDir string `key:"working-dir"`
}

// JavaScript is a script with network modules.
type JavaScript struct {
	Line int

	ID               string     `key:"id"`
	Init             string     `key:"init"`
	PreCondition     string     `key:"pre-condition"`
	Args             []Variable `key:"args"`
	Code             string     `key:"code"` // the script, or the name of its file
	StopAtFirstMatch bool       `key:"stop-at-first-match"`
	Threads          int        `key:"threads"`
	PayloadSets
	Operators
}

// Step is a step of a workflow: templates by path or tag, and what runs after them.
type Step struct {
	Line int

	Template     string        `key:"template"` // a file or a folder
	Tags         []string      `key:"tags" list:"words"`
	Matchers     []StepMatcher `key:"matchers"`
	Subtemplates []Step        `key:"subtemplates"`
}

// StepMatcher runs templates after findings of these names.
type StepMatcher struct {
	Line int

	Name         []string `key:"name"`                  // of matchers or extractors, in any case
	Condition    string   `key:"condition" of:"and or"` // "" means or
	Subtemplates []Step   `key:"subtemplates"`
}
