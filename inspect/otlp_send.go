package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agentrec/store"
)

// envOTLPHeaders holds header lines for a collector, as every OpenTelemetry
// exporter reads them: name=value, joined by commas, values percent-encoded.
const envOTLPHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// collector posts spans to a collector (OTLP 1.x over HTTP, JSON).
type collector struct {
	url    string
	header http.Header
	client *http.Client
	wait   func(ctx context.Context, d time.Duration) error
}

// exportOTLP sends the spans of sessions to the file or collector that o names.
func exportOTLP(ctx context.Context, list []*store.Session, o exportOptions) error {
	if isCollector(o.OTLP) {
		c, err := newCollector(o.OTLP, o.Headers)
		if err != nil {
			return err
		}
		defer c.client.CloseIdleConnections()
		for _, s := range list {
			if err := exportSpans(ctx, s, o, c.send); err != nil {
				return err
			}
		}
		return nil
	}
	write := func(w io.Writer) error {
		for _, s := range list {
			err := exportSpans(ctx, s, o, func(_ context.Context, request []byte) error {
				_, err := w.Write(append(request, '\n'))
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if o.OTLP == "-" {
		return exportTo(o.Out, write)
	}
	return writeOutput(o.OTLP, write)
}

// How a collector is tried again: those answers mean that it may take the
// request later (OTLP specification, "Failures").
const (
	otlpTries   = 5
	otlpPause   = 500 * time.Millisecond // before the second try, then doubled
	otlpTimeout = 30 * time.Second       // of one try
	otlpPatient = 30 * time.Second       // the longest pause a collector may ask for
)

// isCollector reports whether the target of an export is an address, not a
// file.
func isCollector(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// newCollector returns the collector at an address: where that has no path,
// at the one that collectors listen on.
func newCollector(address, headers string) (*collector, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("--otlp %s: want the address of a collector, such as http://127.0.0.1:4318", visibleCut(address, 80))
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	c := &collector{url: u.String(), header: http.Header{"Content-Type": {"application/json"}}, client: &http.Client{Timeout: otlpTimeout}, wait: pause}
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		if decoded, err := url.QueryUnescape(strings.TrimSpace(value)); err == nil {
			value = decoded
		}
		c.header.Set(strings.TrimSpace(name), value)
	}
	return c, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send posts one request, again where the collector asks for that.
func (c *collector) send(ctx context.Context, request []byte) error {
	next := otlpPause
	for try := 1; ; try++ {
		again, after, err := c.post(ctx, request)
		if err == nil {
			return nil
		}
		if !again || try == otlpTries || ctx.Err() != nil {
			return fmt.Errorf("sending spans to %s: %w", c.url, err)
		}
		if after <= 0 {
			after, next = next, 2*next
		}
		if err := c.wait(ctx, min(after, otlpPatient)); err != nil {
			return fmt.Errorf("sending spans to %s: %w", c.url, err)
		}
	}
}

// post tries once. again reports whether trying later makes sense, after when
// the collector says how much later.
func (c *collector) post(ctx context.Context, request []byte) (again bool, after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(request))
	if err != nil {
		return false, 0, err
	}
	r.Header = c.header.Clone()
	answer, err := c.client.Do(r)
	if err != nil {
		return true, 0, err
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // what is cut only makes the message shorter
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, 0, rejected(body)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
		if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
			after = time.Duration(n) * time.Second
		}
	}
	return again, after, fmt.Errorf("the collector answers %s: %s", answer.Status, visibleCut(strings.TrimSpace(string(body)), 300))
}

// rejected is the error of a collector that took only a part.
func rejected(body []byte) error {
	var answer struct {
		Partial struct {
			Rejected json.Number `json:"rejectedSpans"`
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Partial.Rejected == "" || answer.Partial.Rejected == "0" {
		return nil
	}
	return fmt.Errorf("the collector rejected %s spans: %s", answer.Partial.Rejected, visibleCut(answer.Partial.Message, 300))
}
