package rest

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests; the zero pointer counts nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// NewMetrics makes the counters and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vedette_http_requests_total", Help: "Requests answered, by surface, operation and status.",
		}, []string{"surface", "operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vedette_http_request_seconds", Help: "Time to answer a request.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"surface", "operation"}),
	}
	registry.MustRegister(m.requests, m.seconds)
	return m
}

func (m *Metrics) observe(surface, operation string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(surface, operation, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(surface, operation).Observe(took.Seconds())
}
