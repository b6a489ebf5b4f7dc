// Command llm_go drives OpenAI's and Anthropic's SDKs for Go against the API at
// BASE. It prints what came over HTTP, read by read, and what the SDK made of it.
// After each read the model at CONTROL is told, so that it sends the next piece.
//
//	llm_go BASE CONTROL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	claudeoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

var base, control = os.Args[1], os.Args[2]

func say(what ...any) {
	b, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", b)
}

// seen is a transport that tells what it reads.
type seen struct{}

func (seen) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		say("no answer")
		return nil, err
	}
	var header []string
	for name, values := range answer.Header {
		if name != "Date" && name != "Connection" {
			header = append(header, name+": "+strings.Join(values, " | "))
		}
	}
	sort.Strings(header)
	say("answer", answer.StatusCode, header)
	answer.Body = &body{answer.Body, strings.Contains(answer.Header.Get("Content-Type"), "event-stream")}
	return answer, nil
}

type body struct {
	io.ReadCloser
	streamed bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		say("piece", fmt.Sprintf("%q", p[:n]))
		if b.streamed {
			if r, err := http.Get(control + "/ack"); err == nil {
				r.Body.Close()
			}
		}
	}
	switch {
	case err == io.EOF:
		say("end")
	case err != nil && !errors.Is(err, http.ErrBodyReadAfterClose):
		say("broke off", err.Error())
	}
	return n, err
}

// stream is what the streams of both SDKs can do.
type stream[T any] interface {
	Next() bool
	Current() T
	Err() error
}

func all[T interface{ RawJSON() string }](name string, s stream[T]) {
	for s.Next() {
		say("got", s.Current().RawJSON())
	}
	failed(s.Err())
}

func failed(err error) {
	if err != nil {
		say("error", fmt.Sprintf("%T", err), strings.ReplaceAll(err.Error(), base, "BASE"))
	}
}

func main() {
	ctx := context.Background()
	web := &http.Client{Transport: seen{}}
	chat := openai.NewClient(option.WithAPIKey("sk-test-0123456789abcdef"), option.WithBaseURL(base+"/v1"), option.WithHTTPClient(web))
	claude := anthropic.NewClient(claudeoption.WithAPIKey("sk-ant-test-0123456789"), claudeoption.WithBaseURL(base), claudeoption.WithHTTPClient(web))
	talk := func(model string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{Model: model + "@go", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Grüße")}}
	}
	message := func(model string) anthropic.MessageNewParams {
		return anthropic.MessageNewParams{Model: anthropic.Model(model + "@go"), MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Grüße"))}}
	}
	for _, model := range []string{"plain", "busy"} {
		say("case", "chat "+model)
		got, err := chat.Chat.Completions.New(ctx, talk(model))
		if err == nil {
			say("got", got.RawJSON())
		}
		failed(err)
	}
	for _, model := range []string{"stream", "busy", "error", "cut", "fail"} {
		say("case", "chat stream "+model)
		all(model, chat.Chat.Completions.NewStreaming(ctx, talk(model)))
	}
	for _, model := range []string{"stream", "error", "cut"} {
		say("case", "responses stream "+model)
		all(model, chat.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: model + "@go", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Grüße")}}))
	}
	say("case", "messages plain")
	got, err := claude.Messages.New(ctx, message("plain"))
	if err == nil {
		say("got", got.RawJSON())
	}
	failed(err)
	for _, model := range []string{"stream", "overloaded", "error", "cut"} {
		say("case", "messages stream "+model)
		all(model, claude.Messages.NewStreaming(ctx, message(model)))
	}
}
