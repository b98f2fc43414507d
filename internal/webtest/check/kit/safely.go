package kit

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Safely turns a panic into an error. Checks read what a hostile application answers, in the process that tests for
// other people as well: one that has a fault must not end it. The error says where.
func Safely(do func() error) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		at := "an unknown line"
		callers := make([]uintptr, maxFrames)
		frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
		for more := true; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if strings.Contains(frame.Function, "/internal/webtest") {
				at = fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
				break
			}
		}
		err = fmt.Errorf("the check broke at %s: %v", at, cause)
	}()
	return do()
}

// maxFrames are how many callers are looked at for the line of a fault.
const maxFrames = 32
