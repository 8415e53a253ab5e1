"""Tiny models with random weights, one per family, and the tools to compare what they do with what we read."""

import torch
import transformers

_SMALL = {"vocab_size": 67, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
_GPT = {
    "vocab_size": 67,
    "n_embd": 32,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 40,
    "bos_token_id": 1,
    "eos_token_id": 1,
}
_ENCODER = {**_SMALL, "intermediate_size": 48, "max_position_embeddings": 40}
_GROUPED = {**_ENCODER, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_WIDE = {**_GROUPED, "head_dim": 12}
_SLIDING = {**_WIDE, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
_VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}

TINY = {
    "gpt2": ("GPT2LMHeadModel", _GPT),
    "gpt2-scaled-by-layer": ("GPT2LMHeadModel", {**_GPT, "scale_attn_by_inverse_layer_idx": True}),
    "bert": ("BertForMaskedLM", _ENCODER),
    "bert-causal": ("BertLMHeadModel", {**_ENCODER, "is_decoder": True}),
    "roberta": ("RobertaForMaskedLM", {**_ENCODER, "pad_token_id": 1}),
    "xlm-roberta": ("XLMRobertaForMaskedLM", {**_ENCODER, "pad_token_id": 1}),
    "distilbert": (
        "DistilBertForMaskedLM",
        {"vocab_size": 67, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 40},
    ),
    "albert": ("AlbertForMaskedLM", {**_ENCODER, "embedding_size": 16}),
    "albert-groups": ("AlbertForMaskedLM", {**_ENCODER, "embedding_size": 16, "num_hidden_groups": 2}),
    "bloom": ("BloomForCausalLM", {"vocab_size": 67, "hidden_size": 32, "n_layer": 3, "n_head": 4}),
    "gpt_neox": ("GPTNeoXForCausalLM", _ENCODER),
    "gpt_neox-serial": ("GPTNeoXForCausalLM", {**_ENCODER, "use_parallel_residual": False}),
    "opt": ("OPTForCausalLM", {**_SMALL, "ffn_dim": 48, "max_position_embeddings": 40, "word_embed_proj_dim": 32}),
    "opt-post-norm": (
        "OPTForCausalLM",
        {
            **_SMALL,
            "ffn_dim": 48,
            "max_position_embeddings": 40,
            "word_embed_proj_dim": 16,
            "do_layer_norm_before": False,
        },
    ),
    "llama": ("LlamaForCausalLM", {**_GROUPED, "attention_bias": True}),
    "llama-wide-heads": ("LlamaForCausalLM", _WIDE),
    "mistral": ("MistralForCausalLM", {**_WIDE, "sliding_window": 4}),
    "qwen2": ("Qwen2ForCausalLM", _GROUPED),
    "qwen3": ("Qwen3ForCausalLM", _WIDE),
    "gemma2": ("Gemma2ForCausalLM", {**_SLIDING, "query_pre_attn_scalar": 7, "attn_logit_softcapping": 1.5}),
    "gemma3_text": ("Gemma3ForCausalLM", {**_SLIDING, "query_pre_attn_scalar": 7}),
    "gemma3": (
        "Gemma3ForConditionalGeneration",
        {
            "text_config": {**_SLIDING, "vocab_size": 80, "query_pre_attn_scalar": 7},
            "vision_config": _VISION,
            "mm_tokens_per_image": 4,
            "image_token_id": 79,
            "boi_token_id": 78,
            "eoi_token_id": 77,
        },
    ),
    "phi": ("PhiForCausalLM", {**_GROUPED, "num_key_value_heads": 4}),
    "phi-normed": ("PhiForCausalLM", {**_GROUPED, "qk_layernorm": True}),
    "smollm3": ("SmolLM3ForCausalLM", {**_GROUPED, "no_rope_layer_interval": 2}),
    "olmo2": ("Olmo2ForCausalLM", _GROUPED),
}


def tiny_model(name: str, seed: int = 0, **changes: object) -> transformers.PreTrainedModel:
    """A model of TINY in eval mode, with biases and norm gains drawn too, so that a dropped one is noticed."""
    architecture, options = TINY[name]
    model_class = getattr(transformers, architecture)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = model_class._from_config(model_class.config_class(**{**options, **changes}))
        with torch.no_grad():
            for weight in model.parameters():
                if weight.ndim == 1:
                    weight.add_(torch.randn_like(weight) * 0.3)
                else:
                    weight.mul_(4)
    return model.eval().requires_grad_(False)
