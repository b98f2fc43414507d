package web

import "slices"

// Describe is a flow of Go whose cases stand beside the pages that serve them, as those of the package bench do. login,
// users and spec are those of a row of flows. Only cases of some classes are kept; all without classes.
func Describe(app, variant, login, users, spec string, cases []Case, classes []string) Flow {
	f := Flow{Stack: "go", App: app, Variant: variant, Spec: spec, login: login, people: map[string]string{}}
	f.take(users)
	for _, c := range cases {
		if c.Stack, c.Sink, c.Filter, c.Source = "go", app, variant, "flow"; len(classes) == 0 || slices.Contains(classes, c.Class) {
			f.Cases = append(f.Cases, c)
		}
	}
	return f
}
