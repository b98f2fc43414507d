package kit

import (
	_ "embed"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// Class is what is known of a class of weaknesses.
type Class struct {
	Title               string
	CWE                 int
	Severity            Severity
	OWASP, API, ASVS    []string
	Impact, Remediation string
}

//go:embed classes.yaml
var classesText []byte

var classes = sync.OnceValue(func() map[string]Class {
	read, err := yamltext.Value(classesText)
	if err != nil {
		panic(err) // it is ours
	}
	all := map[string]Class{}
	for name, value := range read.(map[string]any) { //nolint:forcetypeassert // it is ours
		fields := value.(map[string]any) //nolint:forcetypeassert // it is ours
		c := Class{OWASP: Texts(fields["owasp"]), API: Texts(fields["api"]), ASVS: Texts(fields["asvs"])}
		c.Title, _ = fields["title"].(string)
		c.CWE, _ = fields["cwe"].(int)
		severity, _ := fields["severity"].(string)
		c.Severity = Severity(severity)
		c.Impact, _ = fields["impact"].(string)
		c.Remediation, _ = fields["remediation"].(string)
		all[name] = c
	}
	return all
})

// About is what is known of a class; the zero Class of one that is not known.
func About(class string) Class { return classes()[class] }

// Classes are the names of all classes.
func Classes() (names []string) {
	for name := range classes() {
		names = append(names, name)
	}
	return names
}

// Texts is a list of YAML as texts; of a single text it is that one.
func Texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// List reads a list of texts from YAML of ours, when it is first asked for.
func List(text []byte) func() []string {
	return sync.OnceValue(func() []string {
		value, err := yamltext.Value(text)
		if err != nil {
			panic(err) // it is ours
		}
		return Texts(value)
	})
}

// Lists reads lists of texts by name from YAML of ours, when they are first asked for.
func Lists(text []byte) func() map[string][]string {
	return sync.OnceValue(func() map[string][]string {
		value, err := yamltext.Value(text)
		if err != nil {
			panic(err) // it is ours
		}
		all := map[string][]string{}
		for name, list := range value.(map[string]any) { //nolint:forcetypeassert // it is ours
			all[name] = Texts(list)
		}
		return all
	})
}
