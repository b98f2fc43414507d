package list

import "time"

// LowLimits makes the limits so low that few rows use every way to fill a page.
func LowLimits() (restore func()) {
	old := limits
	limits = limitsOf{few: 6, known: 8, together: 1, values: 3, looked: 3, groups: 4, count: 20, countRows: 20,
		walkFirst: 4, walkMost: 16, countFor: old.countFor}
	return func() { limits = old }
}

// CountFor limits how long a total may take, and how many of the newest rows are counted then.
func CountFor(time time.Duration) (restore func()) {
	old := limits
	limits.countFor, limits.countRows, limits.few = time, 100, 50
	return func() { limits = old }
}
