// Command collector is the OpenTelemetry collector's own OTLP receiver with a
// line a span on stdout: it takes requests as every collector does.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	settings := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": os.Args[1]}}})
	if err := settings.Unmarshal(config); err != nil {
		log.Fatal(err)
	}
	sink, err := consumer.NewTraces(func(_ context.Context, t ptrace.Traces) error {
		show(t)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	r, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, sink)
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	<-ctx.Done()
	if err := r.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func show(t ptrace.Traces) {
	for _, rs := range t.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				operation := "-"
				if v, ok := s.Attributes().Get("gen_ai.operation.name"); ok {
					operation = v.Str()
				}
				fmt.Println(s.TraceID(), s.SpanID(), s.ParentSpanID(), s.Kind(), s.Status().Code(), operation, s.Name())
			}
		}
	}
}
