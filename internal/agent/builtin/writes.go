package builtin

// What an instruction has to say so that tests of web applications may write test data: that they may, in so many
// words, or the name of the level. It is read before the tokens and taken out, as "change" and "create" are no checks.
const (
	mayWrite = `(?:writ(?:e|ing)|chang(?:e|ing)|modify(?:ing)?|alter(?:ing)?|creat(?:e|ing)|insert(?:ing)?|edit(?:ing)?|` +
		`submit(?:ting)?|stor(?:e|ing))`
	things = `(?:data|entries|content|contents|records|state|things|anything|everything|forms?|comments?|objects?|accounts?)`
	// written is what may be written, such as "any test data and comments".
	written = `(?:\s+(?:test|any|some|the|all|its|of|new|application(?:'s)?|app(?:'s)?))*\s+` + things +
		`(?:,?\s+(?:and|or)\s+` + things + `)*`
	isAllowed = `(?:may|can|(?:are|is)\s+(?:allowed|free|welcome)\s+to)`
)

var writesShape = shape(`(?i)\b(?:(?:you|(?:the\s+)?(?:tests?|checks?|tester|agent|scanner))\s+` + isAllowed +
	`\s+(?:also\s+)?` + mayWrite + written +
	`|(?:it\s+is|it's|feel)\s+(?:ok|okay|fine|allowed|free)\s+to\s+` + mayWrite + written +
	`|` + mayWrite + written + `\s+is\s+(?:ok|okay|fine|allowed|permitted|welcome)` +
	`|(?:(?:at|with|on|use)\s+)?(?:the\s+)?(?:level|intrusiveness)\s*[:=]?\s*["'“‘]?active["'”’]?` +
	`|(?:at|with|on|use)\s+(?:the\s+)?active\s+level)\b`)

// writes notes whether tests may write, and takes out what says so.
func (b *builder) writes(text string) string {
	return blankAll(text, writesShape(), func([]string) { b.plan.Writes = true })
}
