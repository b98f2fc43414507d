package templates

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// What templates take from other files.

// scripts puts the text of script files in the place of their names, and gives these
// texts in the order that signatures cover them.
func (l *loader) scripts(t *syntax.Template) (imports []string, err error) {
	take := func(source *string, must bool) error {
		name := strings.TrimSpace(*source)
		if name == "" || len(name) > maxName || strings.Contains(name, "\n") {
			return nil
		}
		text, err := l.helpers.Text(t.Path, name)
		if err == nil {
			*source = text
			imports = append(imports, text)
		} else if must {
			return err
		}
		return nil
	}
	for i := range t.Code {
		_ = take(&t.Code[i].Source, false)
	}
	for i := range t.JavaScript {
		_ = take(&t.JavaScript[i].Code, false)
	}
	if strings.HasSuffix(strings.TrimSpace(t.Flow), ".js") {
		if err := take(&t.Flow, true); err != nil {
			return nil, syntax.Fault(t.Path, 1, 0, "flow", "%v", err)
		}
	}
	return imports, nil
}

// maxName is how long the name of a script's file may be; longer lines are scripts.
const maxName = 255

// payloads reads the files of payloads, and chooses those of the level.
func (l *loader) payloads(t *syntax.Template) error {
	for _, set := range t.PayloadSets() {
		for i := range set.Payloads {
			p := &set.Payloads[i]
			if p.Levels != nil {
				p.Values = p.Levels.Up(l.Aggression)
			}
			if p.File == "" {
				continue
			}
			lines, err := l.helpers.Lines(t.Path, p.File)
			if err != nil {
				return syntax.Fault(t.Path, p.Line, 0, "payloads."+p.Name, "%v", err)
			}
			p.Values = lines
		}
	}
	return nil
}
