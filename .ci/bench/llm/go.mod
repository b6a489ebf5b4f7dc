module llm_bench

go 1.26.0

require gopkg.in/dnaeon/go-vcr.v4 v4.0.8

require go.yaml.in/yaml/v4 v4.0.0 // indirect
