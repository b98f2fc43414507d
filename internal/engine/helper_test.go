package engine_test

import (
	"io"
	"log"
)

// quiet is a log that nobody reads: servers here are meant to fail now and then.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
