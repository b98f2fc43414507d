//go:build !race

package dbtest

var engines = []string{"sqlite", "postgres"}
