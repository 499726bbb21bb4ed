#!/usr/bin/env bash
# The old way: BERT on XNLI with Paddle's run_classifier.py, which is no longer maintained.
export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
python -u run_classifier.py --task_name XNLI \
  --use_cuda true \
  --use_fp16=true \
  --do_train true \
  --batch_size 32 \
  --data_dir data \
  --vocab_path vocab.txt \
  --weight_decay 0.01 \
  --warmup_proportion 0.1 \
  --epoch 3 \
  --max_seq_len 128 \
  --learning_rate 5e-5
