exec redis-server --bind 0.0.0.0 --port 6379 --protected-mode no --save '' --dir $D
