// Sends the commands of a file, one after another, with the default limits of coder/websocket. Prints how many frames and bytes arrived.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

type message struct {
	ID   any             `json:"id"`
	Op   string          `json:"op"`
	Data json.RawMessage `json:"data"`
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	url, file := os.Args[1], os.Args[2]
	expected, err := strconv.Atoi(os.Args[3])
	must(err)
	text, err := os.ReadFile(file)
	must(err)
	var commands []map[string]any
	must(json.Unmarshal(text, &commands))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, url, nil)
	must(err)
	send := func() {
		command, err := json.Marshal(commands[0])
		must(err)
		must(socket.Write(ctx, websocket.MessageText, command))
	}
	send()
	frames, longest := 0, 0
	for len(commands) > 0 || frames < expected {
		_, received, err := socket.Read(ctx)
		must(err)
		longest = max(longest, len(received))
		var messages []message
		if bytes.HasPrefix(received, []byte("[")) {
			must(json.Unmarshal(received, &messages))
		} else {
			var one message
			must(json.Unmarshal(received, &one))
			messages = append(messages, one)
		}
		for _, one := range messages {
			if one.Op == "error" {
				log.Fatal(string(received))
			}
			if one.Data != nil {
				frames++
			}
			if len(commands) > 0 && one.ID == commands[0]["id"] {
				commands = commands[1:]
				if len(commands) > 0 {
					send()
				}
			}
		}
	}
	socket.Close(websocket.StatusNormalClosure, "")
	fmt.Printf("{\"frames\":%d,\"longest\":%d}\n", frames, longest)
}
