//go:build !linux

package templates

import "time"

// fileKey makes no key: files are always read.
func fileKey(string) (key, time.Time, bool) { return key{}, time.Time{}, false }
