package update

import (
	"cmp"
	"slices"
)

// Known is a template of a set.
type Known struct{ ID, Path, Digest string }

// Broken is a template that was well-formed before an update and is not any more.
type Broken struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Changes are what an update changed, by ids in their order; never nil.
type Changes struct {
	Added   []string
	Changed []string // another text, or another place
	Removed []string
	Broken  []Broken // in the new set they are left out
}

// Compare compares two sets. Refused are the reasons, by path, why files of the new one are left out.
func Compare(before, after []Known, refused map[string]string) Changes {
	c := Changes{Added: []string{}, Changed: []string{}, Removed: []string{}, Broken: []Broken{}}
	old := make(map[string]Known, len(before))
	for _, k := range before {
		old[k.ID] = k
	}
	for _, k := range after {
		was, ok := old[k.ID]
		delete(old, k.ID)
		switch {
		case !ok:
			c.Added = append(c.Added, k.ID)
		case was.Digest != k.Digest || was.Path != k.Path:
			c.Changed = append(c.Changed, k.ID)
		}
	}
	for id, k := range old {
		if why, ok := refused[k.Path]; ok {
			c.Broken = append(c.Broken, Broken{id, k.Path, why})
			continue
		}
		c.Removed = append(c.Removed, id)
	}
	for _, list := range [][]string{c.Added, c.Changed, c.Removed} {
		slices.Sort(list)
	}
	slices.SortFunc(c.Broken, func(a, b Broken) int { return cmp.Compare(a.ID, b.ID) })
	return c
}
