package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentrec/store"
)

// Spans as OTLP 1.x has them in JSON (opentelemetry-proto, trace.proto: member
// names in lowerCamelCase, 64-bit integers as strings, ids in hex). Their
// attributes follow the GenAI conventions of the schema below; those are still
// in development, so the schema that is followed is said in every export.
const otlpSchema = "https://opentelemetry.io/schemas/1.41.0"

// Kinds and codes of spans.
const (
	otlpInternal = 1
	otlpClient   = 3
	otlpError    = 2
)

type otlpRequest struct {
	ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource   otlpResource     `json:"resource"`
	ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	SchemaURL  string           `json:"schemaUrl"`
}

type otlpResource struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpScopeSpans struct {
	Scope     otlpScope  `json:"scope"`
	Spans     []otlpSpan `json:"spans"`
	SchemaURL string     `json:"schemaUrl"`
}

type otlpScope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	ParentID   string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes"`
	Links      []otlpLink      `json:"links,omitempty"`
	Status     *otlpStatus     `json:"status,omitempty"`
}

type otlpLink struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

type otlpStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue is one of its members.
type otlpValue struct {
	String *string    `json:"stringValue,omitempty"`
	Bool   *bool      `json:"boolValue,omitempty"`
	Int    *string    `json:"intValue,omitempty"`
	Double *float64   `json:"doubleValue,omitempty"`
	Array  *otlpArray `json:"arrayValue,omitempty"`
}

type otlpArray struct {
	Values []otlpValue `json:"values"`
}

// attributes collects attributes; empty texts are left out.
type attributes []otlpAttribute

func (a *attributes) text(key, s string) {
	if s != "" {
		*a = append(*a, otlpAttribute{key, textValue(s)})
	}
}

func textValue(s string) otlpValue {
	s = strings.Clone(strings.ToValidUTF8(s, "\ufffd")) // protobuf strings are UTF-8; a body must not live as long as its span
	return otlpValue{String: &s}
}

func (a *attributes) int(key string, n int64) {
	s := strconv.FormatInt(n, 10)
	*a = append(*a, otlpAttribute{key, otlpValue{Int: &s}})
}

func (a *attributes) double(key string, f float64) {
	*a = append(*a, otlpAttribute{key, otlpValue{Double: &f}})
}

func (a *attributes) bool(key string, b bool) {
	*a = append(*a, otlpAttribute{key, otlpValue{Bool: &b}})
}

func (a *attributes) texts(key string, list []string) {
	if len(list) == 0 {
		return
	}
	v := otlpArray{}
	for _, s := range list {
		v.Values = append(v.Values, textValue(s))
	}
	*a = append(*a, otlpAttribute{key, otlpValue{Array: &v}})
}

// Ids are made from the session's, so that exporting again says the same.
func traceID(s *store.Session) string {
	h := sha256.Sum256([]byte("agentrec trace " + s.UID))
	return hex.EncodeToString(h[:16])
}

func spanID(s *store.Session, kind string, n int64) string {
	h := sha256.Sum256(fmt.Appendf(nil, "agentrec span %s %s %d", s.UID, kind, n))
	return hex.EncodeToString(h[:8])
}

func nanos(s *store.Session, at time.Duration) string {
	return strconv.FormatInt(s.Started.Add(at).UnixNano(), 10)
}

// Bounds of one request.
const (
	otlpSpans = 500
	otlpBytes = 4 << 20
)

// otlpBatch gathers the spans of one session and hands them on in requests that
// collectors take.
type otlpBatch struct {
	ctx      context.Context
	session  *store.Session
	resource attributes
	spans    []otlpSpan
	size     int
	send     func(ctx context.Context, request []byte) error
}

// add takes a span.
func (b *otlpBatch) add(s otlpSpan) error {
	n := 300 + len(s.Name)
	for _, a := range s.Attributes {
		n += 40 + len(a.Key)
		if a.Value.String != nil {
			n += len(*a.Value.String)
		}
	}
	if len(b.spans) > 0 && (len(b.spans) == otlpSpans || b.size+n > otlpBytes) {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.spans, b.size = append(b.spans, s), b.size+n
	return nil
}

// flush sends what has been gathered.
func (b *otlpBatch) flush() error {
	if len(b.spans) == 0 {
		return nil
	}
	request, err := json.Marshal(otlpRequest{[]otlpResourceSpans{{
		Resource: otlpResource{b.resource}, SchemaURL: otlpSchema,
		ScopeSpans: []otlpScopeSpans{{Scope: otlpScope{"agentrec", b.session.Version}, Spans: b.spans, SchemaURL: otlpSchema}},
	}}})
	if err != nil {
		return fmt.Errorf("writing spans: %w", err)
	}
	b.spans, b.size = nil, 0
	return b.send(b.ctx, safeJSON(request))
}
