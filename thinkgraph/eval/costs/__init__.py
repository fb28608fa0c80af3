"""What questions cost: expected before they are asked, spent and expected while they are."""
