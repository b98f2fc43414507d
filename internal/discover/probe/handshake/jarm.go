package handshake

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/RumbleDiscovery/jarm-go"
)

const (
	jarmBytes   = 1484  // of an answer that are read
	jarmNothing = "|||" // for a hello without an answer
	jarmMute    = 2     // connections in a row that fail; the others are not tried
)

// jarm is the JARM fingerprint of a server, from its answers to ten hellos; "" when it stops answering.
func (l *Looker) jarm(ctx context.Context, name string, port uint16, dial func(context.Context) (net.Conn, error)) string {
	ctx, cancel := context.WithTimeout(ctx, 2*l.Timeout)
	defer cancel()
	var answers []string
	mute := 0
	for _, probe := range jarm.GetProbes(name, int(port)) {
		answer, ok := l.hello(ctx, probe, dial)
		if ok {
			mute = 0
		} else if mute++; mute > jarmMute || ctx.Err() != nil {
			return ""
		}
		answers = append(answers, answer)
	}
	return jarm.RawHashToFuzzyHash(strings.Join(answers, ","))
}

// hello sends one hello and reads the answer. ok is false without a connection, or an answer in time.
func (l *Looker) hello(ctx context.Context, probe jarm.JarmProbeOptions, dial func(context.Context) (net.Conn, error)) (answer string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		return jarmNothing, false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(jarm.BuildProbe(probe)); err != nil {
		return jarmNothing, true
	}
	b := make([]byte, jarmBytes)
	n, err := conn.Read(b)
	if err != nil && n == 0 {
		return jarmNothing, ctx.Err() == nil
	}
	if answer, err = jarm.ParseServerHello(b[:n], probe); err != nil {
		return jarmNothing, true
	}
	return answer, true
}
