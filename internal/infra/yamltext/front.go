package yamltext

import (
	"errors"
	"strings"
)

// Front splits a Markdown text that begins with a block of YAML between two lines of three hyphens. head is the
// mapping in the block, body the rest. The error is for people.
func Front(text string) (head map[string]any, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, begins := strings.CutPrefix(text, "---\n")
	if !begins {
		return nil, "", errors.New("it does not begin with a line of three hyphens and its fields")
	}
	block, body, ends := strings.Cut("\n"+rest, "\n---\n")
	if !ends {
		if block, ends = strings.CutSuffix("\n"+rest, "\n---"); !ends {
			return nil, "", errors.New("the fields at its beginning do not end with a line of three hyphens")
		}
	}
	if head, err = Mapping([]byte(block)); err != nil {
		return nil, "", err
	}
	return head, strings.TrimSpace(body), nil
}
