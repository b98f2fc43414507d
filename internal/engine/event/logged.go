package event

import (
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Logged is what a script or a flow of a template wrote with log.
type Logged struct {
	TemplateID, Target, Text string
}

// Bounds of what the templates of a session may log on one target.
const (
	maxLogged     = 100  // calls
	maxLoggedText = 2000 // bytes of each
)

// Logger bounds what is logged on a target. The lock is held during each call; a nil Logger logs nothing.
type Logger struct {
	target string
	to     func(Logged)
	lock   *sync.Mutex
	calls  int
}

// NewLogger makes a Logger; nil where nobody reads it.
func NewLogger(target string, to func(Logged), lock *sync.Mutex) *Logger {
	if to == nil {
		return nil
	}
	return &Logger{target: target, to: to, lock: lock}
}

// Of is the log of one template; nil for a nil Logger.
func (l *Logger) Of(id string) func(text string) {
	if l == nil {
		return nil
	}
	return func(text string) {
		l.lock.Lock()
		defer l.lock.Unlock()
		switch l.calls++; {
		case l.calls > maxLogged:
			return
		case l.calls == maxLogged:
			text = "… no more is shown of this template on this target"
		}
		l.to(Logged{id, l.target, errs.Clip(strings.TrimSpace(text), maxLoggedText)})
	}
}
