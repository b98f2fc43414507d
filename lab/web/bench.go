package web

import "slices"

// Describe is a flow of a stack whose cases are declared by the package bench. login, users
// and spec are those of a row of flows. Only cases of some classes are kept; all without classes.
func Describe(stack, app, variant, login, users, spec string, cases []Case, classes []string) Flow {
	f := Flow{Stack: stack, App: app, Variant: variant, Spec: spec, login: login, people: map[string]string{}}
	f.take(users)
	for _, c := range cases {
		c.Stack, c.Sink, c.Filter, c.Source = stack, app, variant, "flow"
		if len(classes) == 0 || slices.Contains(classes, c.Class) {
			f.Cases = append(f.Cases, c)
		}
	}
	return f
}
