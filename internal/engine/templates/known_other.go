//go:build !linux

package templates

import "time"

// fileKey gives no key: files are always read.
func fileKey(string) (key, time.Time, bool) { return key{}, time.Time{}, false }
