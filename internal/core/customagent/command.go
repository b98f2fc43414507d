package customagent

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// placeholder is where an argument of the model goes in a command.
var placeholder = regexp.MustCompile(`^\{\{\s*(\$?[A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

const (
	scriptWord = "script_path" // the placeholder for where the script lies
	// ArgVariable begins the names of the variables that have the arguments.
	ArgVariable = "ARG_"
	// ScriptVariable has where the script lies.
	ScriptVariable = "SCRIPT_PATH"
)

// quotes are the quotes and parentheses that a place in a command stands in, the innermost last.
type quotes []byte

func (q quotes) last() byte {
	if len(q) == 0 {
		return 0
	}
	return q[len(q)-1]
}

// after is what a place stands in after the byte c of a command; before is the byte before it.
func (q quotes) after(before, c byte) quotes {
	last := q.last()
	switch {
	case c != 0 && c == last && c != '(', last == '(' && c == ')':
		return q[:len(q)-1]
	case last == '\'', last == '"' && c != '`' && (c != '(' || before != '$'):
		return q
	case c == '\'', c == '"', c == '`', c == '(':
		return append(q, c)
	}
	return q
}

// Shell is the command for a shell, with the arguments as variables, and the names of those that it has. What a model
// writes is thus never read as shell text, whatever is in it.
func (t Tool) Shell() (text string, names []string, err error) {
	var b strings.Builder
	var q quotes
	before := byte(0)
	for i := 0; i < len(t.Command); {
		found := placeholder.FindStringSubmatch(t.Command[i:])
		if found == nil {
			c := t.Command[i]
			b.WriteByte(c)
			if i++; c == '\\' && q.last() != '\'' && i < len(t.Command) {
				c = 0 // what follows is itself
				b.WriteByte(t.Command[i])
				i++
			}
			q, before = q.after(before, c), c
			continue
		}
		i += len(found[0])
		name, variable := found[1], ArgVariable+found[1]
		switch {
		case name[0] == '$':
			return "", nil, errs.Field("", "command_template: %s: secrets of require_env_vars are variables of the environment; write %s.",
				found[0], name)
		case q.last() == '\'':
			return "", nil, errs.Field("", "command_template: %s stands in single quotes, where a shell inserts nothing; leave them out.",
				found[0])
		case slices.Contains(q, '`'):
			return "", nil, errs.Field("", "command_template: %s stands in backquotes; write $(…) instead.", found[0])
		case name == scriptWord && t.Script == "":
			return "", nil, errs.Field("", "command_template: {{script_path}} is where script_content lies, which is missing.")
		case name == scriptWord:
			variable = ScriptVariable
		case !slices.Contains(names, name):
			names = append(names, name)
		}
		if q.last() == '"' {
			b.WriteString(`${` + variable + `}`)
		} else {
			b.WriteString(`"${` + variable + `}"`)
		}
	}
	return b.String(), names, nil
}
